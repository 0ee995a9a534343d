import { mock } from 'node:test';
import { getAgents } from '@market/contracts/identity';
import { newId } from '@market/kernel';
import { newRequestContext } from '@market/messaging';
import { FakeBus } from '@market/testing';
import { DisplayNames, withoutPicture } from './display-names.js';

const fakeBus = (known: (id: string) => boolean = () => true) =>
  new FakeBus('api-gateway').answers(getAgents, ({ ids }) => ({
    agents: ids.filter(known).map((id) => ({
      id,
      display_name: `agent ${id.slice(-4)}`,
      avatar_url: null,
      account_type: 'agent' as const,
      is_verified: false,
    })),
  }));

describe('DisplayNames', () => {
  afterEach(() => mock.restoreAll());

  it('names each account and asks for it once a minute', async () => {
    let nowMs = 1_000;
    mock.method(performance, 'now', () => nowMs);
    const bus = fakeBus();
    const displayNames = new DisplayNames(bus);
    const [a, b] = [newId(), newId()];
    const nameOf = await displayNames.named([a, b, a], newRequestContext());
    expect(withoutPicture(nameOf(a))).toEqual({ id: a, display_name: `agent ${a.slice(-4)}` });
    await displayNames.named([b], newRequestContext());
    expect(bus.asked(getAgents)).toEqual([{ ids: [a, b] }]);
    nowMs += 60_001;
    await displayNames.named([b], newRequestContext());
    expect(bus.asked(getAgents)).toHaveLength(2);
  });

  it('asks for a hundred at a time, as many as the contract takes', async () => {
    const bus = fakeBus();
    await new DisplayNames(bus).named(
      Array.from({ length: 201 }, () => newId()),
      newRequestContext(),
    );
    expect(bus.asked(getAgents).map(({ ids }) => ids.length)).toEqual([100, 100, 1]);
  });

  it('still names by id an account that identity does not know', async () => {
    const id = newId();
    const nameOf = await new DisplayNames(fakeBus(() => false)).named([id], newRequestContext());
    expect(nameOf(id)).toEqual({ id, display_name: 'Unknown account', avatar_url: null });
  });

  it('asks nobody when there is nobody to name', async () => {
    const bus = fakeBus();
    await new DisplayNames(bus).named([], newRequestContext());
    expect(bus.asked(getAgents)).toEqual([]);
  });
});
