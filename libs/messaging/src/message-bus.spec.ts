import { defineRequest, type ServiceTopology } from '@market/contracts';
import { z } from 'zod';
import type { ReplyEnvelope } from './envelope.js';
import { MessageBus } from './message-bus.js';
import { newRequestContext } from './request-context.js';
import { RequestLost } from './transport.js';

const once = defineRequest({ subject: 'rpc.catalog.once.v1', input: z.object({}), output: z.string(), refusals: {} });
const again = defineRequest({ ...once, subject: 'rpc.catalog.again.v1', repeatable: true });
const topology = { calls: [once, again], signals: [] } as unknown as ServiceTopology;

const LOST = new RequestLost('the process that took it is gone');
const AWAY = new Error('there is no connection to NATS');

/** Returns a bus on which consecutive requests have these outcomes. */
function busWith(...ends: (Error | ReplyEnvelope)[]): { bus: MessageBus; left: () => number } {
  const request = async (): Promise<ReplyEnvelope> => {
    const end = ends.shift();
    if (end === undefined || end instanceof Error) throw end ?? new Error('nobody asked for one more');
    return end;
  };
  return { bus: new MessageBus({ request, signal: () => undefined }, topology), left: () => ends.length };
}

describe('a request whose answer is lost', () => {
  it('is sent again, three times at most, where it may be repeated', async () => {
    const answered = busWith(LOST, LOST, LOST, { ok: 'fourth' });
    expect(await answered.bus.request(again, {}, newRequestContext())).toBe('fourth');
    const lost = busWith(LOST, LOST, LOST, LOST, { ok: 'fifth' });
    await expect(lost.bus.request(again, {}, newRequestContext())).rejects.toMatchObject({ reason: 'answer_lost' });
    expect(lost.left()).toBe(1);
  });

  it('is not sent again where it may not be', async () => {
    const { bus, left } = busWith(LOST, { ok: 'second' });
    await expect(bus.request(once, {}, newRequestContext())).rejects.toMatchObject({ reason: 'answer_lost' });
    expect(left()).toBe(1);
  });

  it('may have been executed, whatever becomes of its repetition', async () => {
    const { bus } = busWith(LOST, AWAY);
    await expect(bus.request(again, {}, newRequestContext())).rejects.toMatchObject({ reason: 'answer_lost' });
    const { bus: other } = busWith(AWAY);
    await expect(other.request(again, {}, newRequestContext())).rejects.toMatchObject({
      reason: 'dependency_unavailable',
    });
  });
});
