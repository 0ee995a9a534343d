import type { Scope } from '@market/contracts';
import {
  apiKeyRevoked,
  apiKeyView,
  authenticate,
  createApiKey,
  hashApiKey,
  listApiKeys,
  revokeApiKey,
} from '@market/contracts/identity';
import { newId } from '@market/kernel';
import { newRequestContext, type RequestContext } from '@market/messaging';
import { Jobs } from '@market/runtime';
import { eventually } from '@market/testing';
import { RecordKeyUse } from '../../src/api-keys/record-key-use.job.js';
import { reasonOf, startIdentity, type IdentityHarness } from '../support/identity-harness.js';
import { evmTestWallet } from '../support/test-wallets.js';

const everything: Scope[] = ['read', 'write', 'subscribe'];

describe('API keys', () => {
  let harness: IdentityHarness;
  let context: RequestContext;
  beforeAll(async () => {
    harness = await startIdentity({ IDENTITY_MAX_API_KEYS: '8' });
  });
  afterAll(() => harness.stop());
  beforeEach(async () => {
    context = await newAgent();
  });

  const newAgent = async (): Promise<RequestContext> =>
    harness.contextWith((await harness.register(evmTestWallet())).api_key);
  const create = (
    values: { scopes?: Scope[]; name?: string; expires_at?: string } = {},
    as: RequestContext = context,
  ) => harness.bus.request(createApiKey, { name: 'Second', scopes: everything, ...values }, as);
  const list = async (as: RequestContext = context) => (await harness.bus.request(listApiKeys, {}, as)).keys;
  const authenticates = (key: string): Promise<boolean> =>
    harness.bus.request(authenticate, { keyHash: hashApiKey(key)! }, newRequestContext()).then(
      () => true,
      () => false,
    );
  const withKey = (values: Partial<RequestContext>): RequestContext => ({
    ...newRequestContext(),
    principal: context.principal,
    ...values,
  });

  it('lists the keys of the caller without any secret, the newest first', async () => {
    const { key, ...created } = await create({
      name: 'Reader',
      scopes: ['read'],
      expires_at: '2100-01-02T03:04:05+02:00',
    });
    const keys = await list();
    expect(keys).toEqual([
      { ...created, last_used_at: null },
      expect.objectContaining({
        name: 'Registration key',
        scopes: everything,
        is_active: true,
        expires_at: null,
      }) as unknown,
    ]);
    expect(created).toMatchObject({
      name: 'Reader',
      key_prefix: key.slice(0, 12),
      scopes: ['read'],
      is_active: true,
      expires_at: '2100-01-02T01:04:05.000Z',
    });
    expect(JSON.stringify(keys)).not.toContain(key.slice(12));
    for (const view of keys) expect(apiKeyView.safeParse(view).error).toBeUndefined();
    expect(await list(await newAgent())).toHaveLength(1);
  });

  it('creates a key that authenticates with its own scopes', async () => {
    const { id, key } = await create({ scopes: ['write', 'read'] });
    expect((await harness.contextWith(key)).principal).toMatchObject({
      accountId: context.principal!.accountId,
      keyId: id,
      scopes: ['read', 'write'],
    });
  });

  it('has so many keys that work and no more, also where they are made at once; a revoked one makes room', async () => {
    const made = await Promise.allSettled(Array.from({ length: 16 }, () => create()));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(7);
    expect(await create().catch((reason: unknown) => reason)).toMatchObject({
      reason: 'too_many_keys',
      details: { maximum: 8 },
    });
    await harness.bus.request(revokeApiKey, { key_id: (await list())[0]!.id }, context);
    await create();
    expect((await list()).filter((key) => key.is_active)).toHaveLength(8);
  });

  it('creates no key that may do more than the creating one', async () => {
    const held: Scope[] = ['write', 'subscribe'];
    const limited = await harness.contextWith((await create({ scopes: held })).key);
    const error: unknown = await create({ scopes: everything }, limited).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ reason: 'scope_not_held', details: { missing_scopes: ['read'] } });
    // This also holds if the principal that the edge has cached says otherwise.
    expect(
      await reasonOf(
        create({ scopes: ['read'] }, { ...limited, principal: { ...limited.principal!, scopes: everything } }),
      ),
    ).toBe('scope_not_held');
    expect((await create({ scopes: ['write'] }, limited)).scopes).toEqual(['write']);
    expect(await list()).toHaveLength(3);
  });

  it('creates no key that outlives the creating one: its end is passed on where none is given, or an earlier one', async () => {
    const end = new Date(Date.now() + 3_600_000).toISOString();
    const later = new Date(Date.now() + 3_600_001).toISOString();
    const sooner = new Date(Date.now() + 60_000).toISOString();
    const expiring = await harness.contextWith((await create({ expires_at: end })).key);
    expect((await create({}, expiring)).expires_at).toBe(end);
    expect((await create({ expires_at: end }, expiring)).expires_at).toBe(end);
    expect((await create({ expires_at: sooner }, expiring)).expires_at).toBe(sooner);
    const error: unknown = await create({ expires_at: later }, expiring).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      reason: 'expiry_beyond_own',
      details: { latest_expires_at: end },
      declaration: { kind: 'forbidden' },
    });
    const grandchild = await harness.contextWith((await create({}, expiring)).key);
    expect((await create({}, grandchild)).expires_at).toBe(end);
    expect((await create()).expires_at).toBeNull();
  });

  it('refuses an expiry that has passed', async () => {
    expect(await reasonOf(create({ expires_at: '2000-01-01T00:00:00Z' }))).toBe('expiry_invalid');
  });

  it.each([' ', 'a\0b'])('refuses the name %j', async (name) => {
    expect(await reasonOf(create({ name }))).toBe('name_invalid');
  });

  it('ends a key at once when it is revoked, tells every process, and may be repeated', async () => {
    const received: unknown[] = [];
    await harness.link.onSignal(apiKeyRevoked.subject, (payload) => received.push(payload));
    const { id, key } = await create();
    expect(await authenticates(key)).toBe(true);
    expect(await harness.bus.request(revokeApiKey, { key_id: id }, context)).toEqual({ id, revoked: true });
    expect(await authenticates(key)).toBe(false);
    const [revokedAt] = await harness.db.inspect('SELECT revoked_at FROM identity.api_keys WHERE id = $1', [id]);
    expect(await harness.bus.request(revokeApiKey, { key_id: id }, context)).toEqual({ id, revoked: true });
    expect(await harness.db.inspect('SELECT revoked_at FROM identity.api_keys WHERE id = $1', [id])).toEqual([
      revokedAt,
    ]);
    await eventually(() => expect(received).toEqual([{ keyHash: hashApiKey(key) }, { keyHash: hashApiKey(key) }]));
    expect((await list()).map((view) => [view.name, view.is_active])).toEqual([
      ['Registration key', true],
      ['Second', false],
    ]);
  });

  it("hides other accounts' keys from a revocation", async () => {
    const stranger = await newAgent();
    expect(await reasonOf(harness.bus.request(revokeApiKey, { key_id: stranger.principal!.keyId }, context))).toBe(
      'api_key_not_found',
    );
    expect(await reasonOf(harness.bus.request(revokeApiKey, { key_id: newId() }, context))).toBe('api_key_not_found');
    expect(await list(stranger)).toMatchObject([{ is_active: true }]);
  });

  it('refuses unknown, revoked and expired keys in the same words', async () => {
    const [expired, revoked] = [await create({ expires_at: '2100-01-01T00:00:00Z' }), await create()];
    await harness.db.inspect("UPDATE identity.api_keys SET expires_at = now() - interval '1 ms' WHERE id = $1", [
      expired.id,
    ]);
    await harness.bus.request(revokeApiKey, { key_id: revoked.id }, context);
    const hashes = [hashApiKey(expired.key)!, hashApiKey(revoked.key)!, '0'.repeat(64)];
    const refusals = await Promise.all(
      hashes.map((keyHash) =>
        harness.bus
          .request(authenticate, { keyHash }, newRequestContext())
          .catch((error: { reason: string; message: string; details: unknown }) => [
            error.reason,
            error.message,
            error.details,
          ]),
      ),
    );
    expect(refusals[0]).toEqual(['key_invalid', expect.any(String), {}]);
    expect(new Set(refusals.map((refusal) => JSON.stringify(refusal))).size).toBe(1);
    expect((await list()).filter((view) => view.is_active)).toHaveLength(1);
  });

  it('lets a revoked key create nothing, even while an edge still knows it', async () => {
    const revokedKey = await harness.contextWith((await create()).key);
    const race = await Promise.allSettled([
      ...Array.from({ length: 8 }, () => create({ name: 'Child' }, revokedKey)),
      harness.bus.request(revokeApiKey, { key_id: revokedKey.principal!.keyId }, context),
    ]);
    expect(race.at(-1)!.status).toBe('fulfilled');
    expect(await reasonOf(create({}, revokedKey))).toBe('key_invalid');
    const [late] = await harness.db.inspect<{ n: number }>(
      `SELECT count(*)::int AS n FROM identity.api_keys child JOIN identity.api_keys parent ON parent.id = $1
       WHERE child.name = $2 AND child.account_id = parent.account_id AND child.created_at > parent.revoked_at`,
      [revokedKey.principal!.keyId, 'Child'],
    );
    expect(late!.n).toBe(0);
  });

  it('gives the same key again for the same Idempotency-Key, and makes only one', async () => {
    const idempotency = { key: 'create-once', fingerprint: 'a'.repeat(64) };
    const first = withKey({ idempotency });
    const created = await create({}, first);
    const again = withKey({ idempotency });
    expect(await create({}, again)).toEqual(created);
    expect([first.reply.idempotencyReplayed, again.reply.idempotencyReplayed]).toEqual([undefined, true]);
    expect(await reasonOf(create({}, withKey({ idempotency: { ...idempotency, fingerprint: 'b'.repeat(64) } })))).toBe(
      'idempotency_key_reused',
    );
    expect(await list()).toHaveLength(2);

    const other = await newAgent();
    const theirs = await create({}, { ...newRequestContext(), principal: other.principal, idempotency });
    expect(theirs.key).not.toBe(created.key);
  });

  it('makes one key of 32 requests with one Idempotency-Key at once', async () => {
    const idempotency = { key: 'create-in-parallel', fingerprint: 'a'.repeat(64) };
    const outcomes = await Promise.allSettled(Array.from({ length: 32 }, () => create({}, withKey({ idempotency }))));
    const keys = outcomes.filter((outcome) => outcome.status === 'fulfilled').map((outcome) => outcome.value.key);
    const reasons = outcomes
      .filter((outcome) => outcome.status === 'rejected')
      .map((outcome) => (outcome.reason as { reason: string }).reason);
    expect(new Set(keys).size).toBe(1);
    expect(reasons.filter((reason) => reason !== 'idempotency_in_progress')).toEqual([]);
    expect(await list()).toHaveLength(2);
  });

  it('does not keep a refusal under an Idempotency-Key', async () => {
    const idempotency = { key: 'refused-first', fingerprint: 'a'.repeat(64) };
    expect(await reasonOf(create({ expires_at: '2000-01-01T00:00:00Z' }, withKey({ idempotency })))).toBe(
      'expiry_invalid',
    );
    expect((await create({}, withKey({ idempotency }))).is_active).toBe(true);
  });

  it('stores no raw key and no session token anywhere, not even in a kept answer', async () => {
    const idempotency = { key: 'canary', fingerprint: 'a'.repeat(64) };
    const canaries = [
      (await harness.register(evmTestWallet())).api_key,
      (await create({}, withKey({ idempotency }))).key,
      (await harness.human()).credential,
    ];
    const tables = await harness.db.inspect<{ name: string }>(
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'identity'",
    );
    expect(tables.length).toBeGreaterThan(6);
    for (const { name } of tables) {
      const rows = await harness.db.inspect<{ row: string }>(`SELECT t::text AS row FROM identity.${name} t`);
      const dump = rows.map(({ row }) => row).join('\n');
      for (const key of canaries) {
        expect(dump).not.toContain(key.slice(12));
        expect(dump).not.toContain(Buffer.from(key).toString('hex').slice(24));
      }
    }
  });

  it('writes the last use of a key once a minute, however often it is used', async () => {
    const keyUse = new RecordKeyUse(harness.db.database, new Jobs());
    const { keyId } = context.principal!;
    const version = async () =>
      (
        await harness.db.inspect<{ xmin: string; at: Date | null }>(
          'SELECT xmin::text, last_used_at AS at FROM identity.api_keys WHERE id = $1',
          [keyId],
        )
      )[0]!;
    const use = async () => {
      keyUse.note(keyId);
      keyUse.note(keyId);
      await keyUse.run();
    };
    await use();
    const first = await version();
    expect(first.at).toBeInstanceOf(Date);
    await use();
    expect(await version()).toEqual(first);
    await harness.db.inspect(
      "UPDATE identity.api_keys SET last_used_at = last_used_at - interval '61 seconds' WHERE id = $1",
      [keyId],
    );
    await use();
    expect((await version()).at!.getTime()).toBeGreaterThanOrEqual(first.at!.getTime());
  });
});

it('keeps the last uses that were not yet written when the service stops', async () => {
  const harness = await startIdentity();
  const { principal } = await harness.contextWith((await harness.register(evmTestWallet())).api_key);
  await harness.running.stop();
  expect(
    await harness.db.inspect('SELECT last_used_at FROM identity.api_keys WHERE id = $1', [principal!.keyId]),
  ).toEqual([{ last_used_at: expect.any(Date) as Date }]);
  await harness.db.drop();
});
