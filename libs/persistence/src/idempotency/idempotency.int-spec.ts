import { countOf } from '@market/test-servers/threats';
import { declareRefusal, defineRequest } from '@market/contracts';
import { newId, UnavailableError } from '@market/kernel';
import { newRequestContext, refuse, type RequestContext } from '@market/messaging';
import { freshDatabase, type FreshDatabase } from '../testing/index.js';
import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { shop } from '../../test/fixtures/shop.js';
import type { Tx } from '../database.js';
import { FieldCipher } from '../field-cipher.js';
import { sql } from '../statement.js';
import { Idempotency } from './idempotency.js';

const order = defineRequest({
  subject: 'rpc.catalog.order.v1',
  input: z.object({ item: z.string() }),
  output: z.object({ orderNumber: z.number(), secret: z.string() }),
  refusals: { sold_out: declareRefusal('conflict', 'Nothing is left', z.object({})) },
});

const place = sql('test.order', 'INSERT INTO journal (note) VALUES ($1) RETURNING id::int');
const fingerprintOf = (body: string): string => createHash('sha256').update(body).digest('hex');

describe('Idempotency', () => {
  let fresh: FreshDatabase;
  let idempotent: Idempotency;
  const accountId = newId();

  beforeAll(async () => {
    fresh = await freshDatabase(shop, { poolSize: 20 });
    idempotent = new Idempotency(fresh.database, new FieldCipher(`k1:${randomBytes(32).toString('base64')}`));
  });
  afterAll(() => fresh.drop());

  const contextWith = (key: string, { body = 'a body', account = accountId } = {}): RequestContext =>
    newRequestContext({
      principal: {
        accountId: account,
        accountType: 'agent',
        role: 'both',
        displayName: 'Ada',
        keyId: newId(),
        scopes: ['write'],
      },
      idempotency: { key, fingerprint: fingerprintOf(body) },
    });
  const ordering = (secret: string) => async (tx: Tx) => {
    const [row] = await tx.query<{ id: number }>(place, [secret]);
    return { orderNumber: row!.id, secret };
  };
  const ordersOf = async (secret: string): Promise<number> =>
    (await fresh.inspect('SELECT 1 FROM shop.journal WHERE note = $1', [secret])).length;

  it('runs a command once when 32 requests with one key come at once, and gives all others the answer or a "still running"', async () => {
    for (let n = 0; n < countOf('sameKey'); n += 1) {
      const key = `parallel ${n}`;
      const calls = Array.from({ length: 32 }, () => contextWith(key));
      const results = await Promise.allSettled(calls.map((context) => idempotent.run(order, context, ordering(key))));
      expect(await ordersOf(key)).toBe(1);
      const answers = results.filter((result) => result.status === 'fulfilled').map((result) => result.value);
      expect(answers.length).toBeGreaterThanOrEqual(1);
      expect(new Set(answers.map((answer) => answer.orderNumber)).size).toBe(1);
      expect(calls.filter((context) => context.reply.idempotencyReplayed).length).toBe(answers.length - 1);
      for (const result of results)
        if (result.status === 'rejected')
          expect(result.reason).toMatchObject({
            reason: 'idempotency_in_progress',
            details: { retry_after_seconds: 1 },
          });
      expect(await idempotent.run(order, contextWith(key), ordering(key))).toEqual(answers[0]);
    }
  });

  it('answers a repetition with the kept answer and says so', async () => {
    const first = await idempotent.run(order, contextWith('again'), ordering('again'));
    const context = contextWith('again');
    expect(await idempotent.run(order, context, ordering('never'))).toEqual(first);
    expect(context.reply.idempotencyReplayed).toBe(true);
    expect(await idempotent.replay(order, contextWith('again'))).toEqual(first);
    expect(await idempotent.replay(order, contextWith('never used'))).toBeUndefined();
    expect(await ordersOf('never')).toBe(0);
  });

  it('refuses the same key for another request, and leaves the first answer as it was', async () => {
    const first = await idempotent.run(order, contextWith('reused'), ordering('reused'));
    const other = contextWith('reused', { body: 'another body' });
    await expect(idempotent.run(order, other, ordering('other'))).rejects.toMatchObject({
      reason: 'idempotency_key_reused',
    });
    await expect(idempotent.replay(order, other)).rejects.toMatchObject({ reason: 'idempotency_key_reused' });
    expect(await ordersOf('other')).toBe(0);
    expect(await idempotent.run(order, contextWith('reused'), ordering('never'))).toEqual(first);
  });

  it('keeps the keys of two accounts apart', async () => {
    const account = newId();
    const mine = await idempotent.run(order, contextWith('shared'), ordering('mine'));
    const theirs = await idempotent.run(order, contextWith('shared', { account }), ordering('theirs'));
    expect(theirs.secret).toBe('theirs');
    expect(await idempotent.run(order, contextWith('shared'), ordering('never'))).toEqual(mine);
  });

  it('keeps nothing of a command that refuses, so that it may be tried again', async () => {
    const refusing = async (): Promise<never> => {
      throw refuse(order, 'sold_out', {});
    };
    await expect(idempotent.run(order, contextWith('sold out'), refusing)).rejects.toMatchObject({
      reason: 'sold_out',
    });
    expect((await idempotent.run(order, contextWith('sold out'), ordering('restocked'))).secret).toBe('restocked');
  });

  it('leaves nothing behind when its process is gone in the middle: no change, no answer, no lock', async () => {
    const crashed = idempotent.run(order, contextWith('crash'), async (tx) => {
      const answer = await ordering('crash')(tx);
      const [self] = await tx.query<{ pid: number }>(sql('test.self', 'SELECT pg_backend_pid() AS pid'));
      await fresh.inspect('SELECT pg_terminate_backend($1)', [self!.pid]);
      return answer;
    });
    await expect(crashed).rejects.toThrow(UnavailableError);
    expect(await ordersOf('crash')).toBe(0);
    expect((await idempotent.run(order, contextWith('crash'), ordering('crash'))).secret).toBe('crash');
    expect(await ordersOf('crash')).toBe(1);
  });

  it('keeps answers unreadable, each bound to its account and key', async () => {
    await idempotent.run(order, contextWith('sealed'), ordering('am_k_a key that is shown once'));
    await idempotent.run(order, contextWith('victim'), ordering('of the victim'));
    const [kept] = await fresh.inspect<{ answer: Buffer }>(
      "SELECT answer FROM shop.idempotency_keys WHERE key = 'sealed'",
    );
    expect(kept!.answer.toString('latin1')).not.toContain('am_k_');
    await fresh.inspect(
      "UPDATE shop.idempotency_keys SET answer = (SELECT answer FROM shop.idempotency_keys WHERE key = 'sealed') WHERE key = 'victim'",
    );
    await expect(idempotent.run(order, contextWith('victim'), ordering('never'))).rejects.toThrow();
  });

  it('forgets a key after 24 hours', async () => {
    await idempotent.run(order, contextWith('old'), ordering('old'));
    await fresh.inspect(
      "UPDATE shop.idempotency_keys SET created_at = now() - interval '24 hours 1 second' WHERE key = 'old'",
    );
    const context = contextWith('old', { body: 'another body' });
    expect((await idempotent.run(order, context, ordering('new'))).secret).toBe('new');
    expect(context.reply.idempotencyReplayed).toBeUndefined();
  });

  it('runs a command without a key each time', async () => {
    const context = newRequestContext();
    await idempotent.run(order, context, ordering('keyless'));
    await idempotent.run(order, context, ordering('keyless'));
    expect(await ordersOf('keyless')).toBe(2);
  });
});
