import { evmWallet, type HttpAnswer, type Marketplace, type Method } from '@market/sdk';
import { sellerServer } from '@market/sdk/seller';
import { eventually, OPERATOR, withClient } from '@market/testing';
import { randomUUID } from 'node:crypto';
import { callOnce, payFor, resultOf, withRelayId } from '../support/buyer.js';
import { ApiDescription } from '../support/fuzz/operations.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';
import { openShop, type Shop } from '../support/seller.js';

type Write = () => Promise<HttpAnswer>;

inEachMode('writes on one listing at once', (marketplace) => {
  let seller: Agent;
  let buyer: Agent;
  let operator: Marketplace;
  let shop: Shop;
  let moved: Awaited<ReturnType<typeof sellerServer>>;

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([registerAgent(marketplace), registerAgent(marketplace)]);
    ({ marketplace: operator } = await stranger(marketplace).signIn(evmWallet(OPERATOR.key)));
    shop = await openShop(seller, () => ({ ok: true }));
    const relayRequestId = await payFor(buyer, shop.listing, {});
    expect(resultOf(await callOnce(buyer, shop.listing, {}, withRelayId(relayRequestId))).billable).toBe(true);
    moved = await sellerServer(() => ({ ok: true }), { secret: () => shop.listing.gateway_signing_secret! });
  }, 240_000);
  afterAll(() => Promise.all([shop?.close(), moved?.close()]));

  const deadlocks = (): Promise<number> =>
    withClient(marketplace.databaseUrl, async (client) => {
      const { rows } = await client.query<{ deadlocks: number }>(
        'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
      );
      return rows[0]!.deadlocks;
    });

  /** By operation of the OpenAPI document, each in the forms that lock different rows. */
  const writesOn = (id: string): Record<string, Record<string, Write>> => {
    const path = `/listings/${id}`;
    const own = (method: Method, at: string, body?: object) => (): Promise<HttpAnswer> =>
      seller.market.send(method, `${path}${at}`, { body });
    const asOperator = (target: string) => (): Promise<HttpAnswer> =>
      operator.send('POST', `/admin/${target}`, { body: { reason: 'looked at' } });
    const ratings = { accuracy_rating: 5, reliability_rating: 4, value_rating: 3 };
    return {
      updateListing: {
        url: own('PATCH', '', { private_endpoint_url: moved.url }),
        name: own('PATCH', '', { name: 'Renamed beside others' }),
        draft: own('PATCH', '', { status: 'draft' }),
        active: own('PATCH', '', { status: 'active' }),
      },
      updateEndpoint: {
        timeout: own('PUT', '/endpoint', { timeout_ms: 5_000 }),
        address: own('PUT', '/endpoint', { private_endpoint_url: moved.url }),
      },
      testEndpoint: { test: own('POST', '/endpoint/test') },
      rotateSecret: { rotate: own('POST', '/endpoint/rotate-secret') },
      removeListing: { remove: own('DELETE', '') },
      executeCall: { call: () => callOnce(buyer, { id }, { n: randomUUID() }) },
      executeKeylessCall: {
        keyless: () => stranger(marketplace).send('POST', `/x402/${id}`, { body: { n: randomUUID() } }),
      },
      createReview: { review: () => buyer.market.send('POST', `/reviews/${id}`, { body: ratings }) },
      suspendListing: { hold: asOperator(`listings/${id}/suspend`) },
      releaseListing: { release: asOperator(`listings/${id}/release`) },
      // These write all listings of the agent.
      suspendAgent: { suspend: asOperator(`agents/${seller.id}/suspend`) },
      releaseAgent: { unsuspend: asOperator(`agents/${seller.id}/release`) },
    };
  };

  it('are those of the OpenAPI document', async () => {
    const { operations } = await ApiDescription.read(marketplace);
    const writes = operations.filter(({ method, path }) => method !== 'GET' && path.includes('{listingId}'));
    expect(Object.keys(writesOn(shop.listing.id))).toEqual(expect.arrayContaining(writes.map(({ id }) => id)));
  });

  it('wait for each other in one order, every pair of them', async () => {
    const before = await deadlocks();
    const pairsOn = (id: string): [string, Write][] =>
      Object.values(writesOn(id)).flatMap((forms) => Object.entries(forms));
    /** Brings back what a pair took off the market. */
    const restore = async (): Promise<void> => {
      const { releaseAgent, releaseListing, updateListing } = writesOn(shop.listing.id);
      await releaseAgent!.unsuspend!();
      await releaseListing!.release!();
      // A key that was refused is refused for up to a second.
      await eventually(async () => {
        await updateListing!.draft!();
        expect(await updateListing!.active!()).toMatchObject({ status: 200 });
      });
    };
    const names = pairsOn(shop.listing.id).map(([name]) => name);
    const done = new Map(names.map((name) => [name, 0]));
    for (const [index, one] of names.entries())
      for (const other of names.slice(index)) {
        // A draft that is removed is gone for good.
        const target = [one, other].includes('remove') ? await openShop(seller, () => ({ ok: true })) : shop;
        const writes = new Map(pairsOn(target.listing.id));
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, n) => writes.get(n % 2 === 0 ? one : other)!()),
        );
        answers.forEach(({ status }, n) => {
          const name = n % 2 === 0 ? one : other;
          if (status < 300 || status === 402) done.set(name, done.get(name)! + 1);
        });
        expect([one, other, answers.map(({ status }) => status).filter((status) => status >= 500)]).toEqual([
          one,
          other,
          [],
        ]);
        if (target !== shop) await target.close();
        if ([one, other].some((name) => ['draft', 'hold', 'suspend'].includes(name))) await restore();
      }
    for (const [name, count] of done) expect([name, count > 0]).toEqual([name, true]);
    expect(await deadlocks()).toBe(before);
  }, 480_000);

  it.each<[string, string, string, object]>([
    ['a rotation, which leaves the old secret its time', 'POST', '/endpoint/rotate-secret', { overlap_seconds: 600 }],
    ['a test, which is sent once', 'POST', '/endpoint/test', {}],
    ['a change', 'PATCH', '', { description: 'Changed under a key of its own.' }],
  ])('have the effect and the answer of the first under one Idempotency-Key: %s', async (_what, method, path, body) => {
    const key = `repeat-${path.length}`;
    const own = await openShop(seller, () => ({ ok: true }));
    const send = (idempotencyKey: string, sent = body): Promise<HttpAnswer> =>
      seller.market.send(method as 'POST', `/listings/${own.listing.id}${path}`, {
        body: sent,
        headers: { 'idempotency-key': idempotencyKey },
      });
    const first = await send(key);
    const [again, other] = [await send(key), await send(key, { more: 1 })];
    expect([first.status, again.status, again.text]).toEqual([200, 200, first.text]);
    expect([first, again].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true']);
    expect([400, 409]).toContain(other.status);
    if (path === '/endpoint/test') expect(own.requests).toHaveLength(1);
    if (path === '/endpoint/rotate-secret') {
      const { previous_key_id } = (first.json as { data: { previous_key_id: string } }).data;
      const third = (await send('another')).json as { data: { previous_key_id: string } };
      expect(third.data.previous_key_id).toBe((first.json as { data: { key_id: string } }).data.key_id);
      expect(third.data.previous_key_id).not.toBe(previous_key_id);
    }
    await own.close();
  });
});
