import { topology, type BudgetFields, type Scope } from '@market/contracts';
import {
  apiKeyChanged,
  authenticate,
  claimAgent,
  createApiKey,
  getApiKey,
  getBudget,
  hashApiKey,
  listApiKeys,
  recover,
  revokeApiKey,
  updateApiKey,
  updateBudget,
} from '@market/contracts/identity';
import { newId } from '@market/kernel';
import { newRequestContext, type RequestContext } from '@market/messaging';
import { eventually } from '@market/testing';
import { reasonOf, startIdentity, type IdentityHarness, type Known } from '../support/identity-harness.js';

const NONE: BudgetFields = {
  per_call_usd: null,
  per_day_usd: null,
  per_month_usd: null,
  listings: null,
  frozen: false,
};

describe('budgets', () => {
  let harness: IdentityHarness;
  let agent: Known;
  const changed: string[] = [];
  beforeAll(async () => {
    harness = await startIdentity();
    await harness.link.onSignal(apiKeyChanged.subject, (payload) => {
      changed.push((payload as { keyHash: string }).keyHash);
    });
  });
  afterAll(() => harness.stop());
  beforeEach(async () => {
    agent = await harness.agent();
  });

  const make = (
    context: RequestContext,
    budget?: Partial<BudgetFields>,
    scopes: Scope[] = ['read', 'write', 'subscribe'],
  ) => harness.bus.request(createApiKey, { name: 'a key', scopes, budget }, context);
  const setKey = (context: RequestContext, keyId: string, budget: Partial<BudgetFields> | null) =>
    harness.bus.request(updateApiKey, { key_id: keyId, budget }, context);
  const setAgent = (context: RequestContext, budget: Partial<BudgetFields> | null) =>
    harness.bus.request(updateBudget, { budget }, context);
  const principalOf = (key: string) =>
    harness.bus.request(authenticate, { keyHash: hashApiKey(key)! }, newRequestContext());
  const claimed = async (): Promise<{ human: Known; asOwner: RequestContext }> => {
    const human = await harness.human();
    const { nonce, signature } = await harness.prove(agent.wallet, 'claim', { agentId: agent.id, by: human });
    await harness.bus.request(claimAgent, { agent_id: agent.id, nonce, signature }, human.context);
    const principal = human.context.principal!;
    return {
      human,
      asOwner: newRequestContext({
        principal: { ...principal, accountId: agent.id, accountType: 'agent', ownerId: principal.accountId },
      }),
    };
  };

  it('come with the principal, of the key and of its agent, in micros; and not at all where there are none', async () => {
    expect(await principalOf(agent.credential)).not.toHaveProperty('budgets');
    const listing = newId();
    const made = await make(agent.context, { per_call_usd: 0.000001, per_day_usd: 1_000_000, listings: [listing] });
    expect(made.budget).toEqual({ ...NONE, per_call_usd: 0.000001, per_day_usd: 1_000_000, listings: [listing] });
    const ofKey = {
      id: made.id,
      of: 'key',
      perCallMicros: '1',
      perDayMicros: '1000000000000',
      perMonthMicros: null,
      listings: [listing],
      frozen: false,
    };
    expect((await principalOf(made.key)).budgets).toEqual([ofKey]);
    await setAgent(agent.context, { per_month_usd: 0, frozen: true });
    const ofAgent = {
      ...ofKey,
      id: agent.id,
      of: 'agent',
      perCallMicros: null,
      perDayMicros: null,
      perMonthMicros: '0',
      listings: null,
      frozen: true,
    };
    expect((await principalOf(made.key)).budgets).toEqual([ofKey, ofAgent]);
    expect((await principalOf(agent.credential)).budgets).toEqual([ofAgent]);
  });

  it('are shown with keys, replaced whole and removed', async () => {
    const { id } = await make(agent.context, { per_day_usd: 5, frozen: true });
    const read = async () => (await harness.bus.request(getApiKey, { key_id: id }, agent.context)).budget;
    expect(await read()).toEqual({ ...NONE, per_day_usd: 5, frozen: true });
    expect((await setKey(agent.context, id, { per_call_usd: 2 })).budget).toEqual({ ...NONE, per_call_usd: 2 });
    expect(await read()).toEqual({ ...NONE, per_call_usd: 2 });
    const { keys } = await harness.bus.request(listApiKeys, {}, agent.context);
    expect(keys.map(({ budget }) => budget)).toEqual([{ ...NONE, per_call_usd: 2 }, null]);
    await setKey(agent.context, id, null);
    expect(await read()).toBeNull();
    expect(await harness.bus.request(getBudget, {}, agent.context)).toEqual({ budget: null });
    expect(await setAgent(agent.context, { per_month_usd: 7 })).toEqual({ budget: { ...NONE, per_month_usd: 7 } });
    expect(await harness.bus.request(getBudget, {}, agent.context)).toEqual({ budget: { ...NONE, per_month_usd: 7 } });
  });

  it('are neither raised nor shed by the key that has one', async () => {
    const made = await make(agent.context, { per_day_usd: 5 });
    const budgeted = await harness.contextWith(made.key);
    const other = await make(agent.context);
    for (const budget of [null, { per_day_usd: 6 }, { per_day_usd: 4 }]) {
      expect(await reasonOf(setKey(budgeted, made.id, budget))).toBe('key_has_budget');
      expect(await reasonOf(setKey(budgeted, other.id, budget))).toBe('key_has_budget');
      expect(await reasonOf(setAgent(budgeted, budget))).toBe('key_has_budget');
    }
    for (const scope of ['read', 'write', 'subscribe'] as const)
      expect(await reasonOf(make(budgeted, { per_day_usd: 1 }, [scope]))).toBe('key_has_budget');
    // This also holds if the edge has cached the key without its budget.
    const before = await harness.contextWith(other.key);
    await setKey(agent.context, other.id, { per_call_usd: 1 });
    expect(await reasonOf(setKey(before, other.id, null))).toBe('key_has_budget');
    expect(await reasonOf(make(before))).toBe('key_has_budget');
  });

  it('may be taken on by a key itself, for good', async () => {
    const made = await make(agent.context);
    const context = await harness.contextWith(made.key);
    await setKey(context, made.id, { frozen: true });
    expect(await reasonOf(setKey(context, made.id, null))).toBe('key_has_budget');
    expect((await setKey(agent.context, made.id, null)).budget).toBeNull();
  });

  it("of a claimed agent are its owner's to set, those of keys also a key's without one", async () => {
    await setAgent(agent.context, { per_day_usd: 1 });
    const { asOwner, human } = await claimed();
    expect(await reasonOf(setAgent(agent.context, null))).toBe('budget_is_the_owners');
    expect(await setAgent(asOwner, { frozen: true })).toEqual({ budget: { ...NONE, frozen: true } });
    const { id } = await make(asOwner, { per_call_usd: 1 });
    expect((await setKey(agent.context, id, { per_call_usd: 2 })).budget).toEqual({ ...NONE, per_call_usd: 2 });
    expect((await setKey(asOwner, id, null)).budget).toBeNull();
    const stranger = await harness.human();
    const asStranger = {
      ...asOwner,
      principal: { ...asOwner.principal!, keyId: stranger.context.principal!.keyId, ownerId: stranger.id },
    };
    expect(await reasonOf(setAgent(asStranger, null))).toBe('key_invalid');
    expect(await reasonOf(setKey(asStranger, id, null))).toBe('key_invalid');
    expect(human.id).not.toBe(agent.id);
  });

  it('of the agent outlast its keys: a recovered key has it, too', async () => {
    await setAgent(agent.context, { per_day_usd: 1 });
    const { api_key } = await harness.bus.request(
      recover,
      { ...(await harness.proveWithWork(agent.wallet, 'recovery')), revoke_existing: true },
      newRequestContext(),
    );
    expect((await principalOf(api_key)).budgets).toMatchObject([{ of: 'agent', perDayMicros: '1000000' }]);
  });

  it('are set with keys that work, on keys of the same account', async () => {
    const [made, other] = [await make(agent.context), await harness.agent()];
    for (const id of [newId(), agent.id])
      expect(await reasonOf(setKey(agent.context, id, null))).toBe('api_key_not_found');
    expect(await reasonOf(setKey(other.context, made.id, null))).toBe('api_key_not_found');
    expect(await reasonOf(harness.bus.request(getApiKey, { key_id: made.id }, other.context))).toBe(
      'api_key_not_found',
    );
    const context = await harness.contextWith(made.key);
    await harness.bus.request(revokeApiKey, { key_id: made.id }, agent.context);
    expect(await reasonOf(setAgent(context, null))).toBe('key_invalid');
    expect(await reasonOf(setKey(context, made.id, null))).toBe('key_invalid');
  });

  it('that change are told to whoever remembers the keys', async () => {
    const made = await make(agent.context);
    const [own, second] = [hashApiKey(agent.credential)!, hashApiKey(made.key)!];
    changed.length = 0;
    await setKey(agent.context, made.id, { per_day_usd: 1 });
    await eventually(() => expect(changed).toEqual([second]));
    changed.length = 0;
    await setAgent(agent.context, { per_day_usd: 1 });
    await eventually(() => expect([...changed].sort()).toEqual([own, second].sort()));
    expect(topology['api-gateway'].subscribes).toContain(apiKeyChanged);
  });
});
