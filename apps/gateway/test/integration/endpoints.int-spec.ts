import { topology } from '@market/contracts';
import { listingRemoved } from '@market/contracts/catalog';
import {
  endpointChanged,
  getEndpoint,
  provisionEndpoint,
  rotateEndpointSecret,
  testEndpoint,
  updateEndpoint,
} from '@market/contracts/gateway';
import type { OutputOf, RequestOf } from '@market/contracts';
import { newId } from '@market/kernel';
import { newRequestContext } from '@market/messaging';
import { SignatureError, verifyRequest } from '@market/sdk/seller';
import { eventually, freePort } from '@market/testing';
import { Webhook } from 'standardwebhooks';
import {
  as,
  BODY,
  reasonOf,
  refusalOf,
  startGateway,
  type GatewayHarness,
  type Shop,
} from '../support/gateway-harness.js';
import { answer, held, type SellerRequest } from '../support/test-seller.js';

describe('a private endpoint', () => {
  let harness: GatewayHarness;
  beforeAll(async () => {
    harness = await startGateway({
      env: {
        GATEWAY_OWN_HOSTS: 'market.test',
        PUBLIC_URL: 'http://public.market.test',
        PORT: '3100',
        NATS_URL: 'nats://bus.test:4333,nats://10.9.9.9:4334',
        REDIS_URL: 'redis://:secret@localhost:7001/0',
        LEDGER_DATABASE_URL: 'postgresql://a:b@db.test:7002/market',
      },
    });
  });
  afterAll(() => harness.stop());

  const view = ({ offering }: Shop, who = offering.sellerId): Promise<OutputOf<typeof getEndpoint>> =>
    harness.edge.request(getEndpoint, { listing_id: offering.listingId }, as(who));
  const update = (
    { offering }: Shop,
    changes: Omit<RequestOf<typeof updateEndpoint>, 'listing_id'>,
    who = offering.sellerId,
  ): Promise<OutputOf<typeof updateEndpoint>> =>
    harness.edge.request(updateEndpoint, { listing_id: offering.listingId, ...changes }, as(who));
  const test = ({ offering }: Shop, who = offering.sellerId): Promise<OutputOf<typeof testEndpoint>> =>
    harness.edge.request(testEndpoint, { listing_id: offering.listingId }, as(who));
  const rotate = (
    { offering }: Shop,
    overlapSeconds?: number,
    who = offering.sellerId,
  ): Promise<OutputOf<typeof rotateEndpointSecret>> =>
    harness.edge.request(
      rotateEndpointSecret,
      { listing_id: offering.listingId, overlap_seconds: overlapSeconds },
      as(who),
    );
  const provision = (listingId: string, sellerId: string, url: string): Promise<OutputOf<typeof provisionEndpoint>> =>
    harness.catalog.bus.request(provisionEndpoint, { listingId, sellerId, url }, newRequestContext());
  const callOnce = async (shop: Shop): Promise<SellerRequest> => {
    const buyer = newId();
    await harness.answer(buyer, shop, BODY, { relayRequestId: await harness.buy(buyer, shop) });
    return shop.seller.requests.at(-1)!;
  };
  const changesOf = async ({ offering }: Shop): Promise<number[]> => {
    const rows = await harness.db.inspect<{ payload: unknown }>(
      'SELECT payload FROM gateway.outbox WHERE subject = $1 ORDER BY id',
      [endpointChanged.subject],
    );
    return rows
      .map(({ payload }) => endpointChanged.payload.parse(payload))
      .filter(({ listingId }) => listingId === offering.listingId)
      .map(({ version }) => version);
  };

  it('is shown to its owner without path, credentials or secret', async () => {
    const shop = await harness.open();
    await update(shop, {
      private_endpoint_url: 'http://127.0.0.1:8080/secret/path?token=hunter2',
      auth_header: { name: 'X-Api-Key', value: 'hunter2' },
    });
    const shown = await view(shop);
    expect(shown).toEqual({
      listing_id: shop.offering.listingId,
      status: 'unverified',
      url_host: '127.0.0.1:8080',
      auth_header_name: 'X-Api-Key',
      has_auth_header: true,
      timeout_ms: 30_000,
      limits: {
        max_request_bytes: 262_144,
        max_response_bytes: 1_048_576,
        max_file_bytes: 33_554_432,
        idle_timeout_ms: 30_000,
        stream_timeout_ms: 600_000,
        job_deadline_seconds: 3_600,
        max_concurrency: 32,
        requests_per_minute: null,
      },
      signature: {
        scheme: 'standard-webhooks-v1',
        key_id: expect.stringMatching(/^key_/) as string,
        rotated_at: null,
        previous_secret_expires_at: null,
      },
      last_test: null,
      consecutive_failures: 0,
      updated_at: expect.stringMatching(/Z$/) as string,
    });
    expect(JSON.stringify(shown)).not.toMatch(/hunter2|whsec_|secret\/path/);
    const readable = [Buffer.from(shop.secret), Buffer.from(shop.secret.slice(6), 'base64'), Buffer.from('hunter2')];
    expect(
      await harness.db.inspect(
        'SELECT 1 FROM gateway.endpoint_secrets, unnest($1::bytea[]) AS r WHERE position(r IN secret_sealed) > 0',
        [readable],
      ),
    ).toEqual([]);
    expect(
      await harness.db.inspect(
        'SELECT 1 FROM gateway.endpoints, unnest($1::bytea[]) AS r WHERE position(r IN auth_header_sealed) > 0',
        [readable],
      ),
    ).toEqual([]);
  });

  it("is nobody else's to see, change, test or rotate", async () => {
    const shop = await harness.open();
    for (const request of [
      view,
      (of: Shop, who: string) => update(of, { timeout_ms: 5_000 }, who),
      test,
      (of: Shop, who: string) => rotate(of, undefined, who),
    ]) {
      expect(await reasonOf(request(shop, newId()))).toBe('not_owner');
      expect(await reasonOf(request({ ...shop, offering: { ...shop.offering, listingId: newId() } }, newId()))).toBe(
        'endpoint_not_found',
      );
    }
    expect(shop.seller.requests).toEqual([]);
  });

  it('changes only what is given, and tells of each change once', async () => {
    const shop = await harness.open();
    const before = await view(shop);
    expect(await update(shop, { timeout_ms: 5_000 })).toEqual({
      ...before,
      timeout_ms: 5_000,
      updated_at: expect.any(String) as string,
    });
    expect(await update(shop, { limits: { max_concurrency: 7 } })).toMatchObject({
      timeout_ms: 5_000,
      limits: { ...before.limits, max_concurrency: 7 },
    });
    expect(await update(shop, { limits: { requests_per_minute: 60 } })).toMatchObject({
      limits: { max_concurrency: 7, requests_per_minute: 60 },
    });
    expect(await update(shop, { limits: { requests_per_minute: null } })).toMatchObject({
      limits: { requests_per_minute: null },
    });
    expect(await update(shop, { auth_header: { name: 'X-Key', value: 'v' } })).toMatchObject({
      auth_header_name: 'X-Key',
      has_auth_header: true,
    });
    expect(await update(shop, {})).toMatchObject({ auth_header_name: 'X-Key', has_auth_header: true });
    expect(await update(shop, { auth_header: null })).toMatchObject({ auth_header_name: null, has_auth_header: false });
    expect(await changesOf(shop)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('keeps both of two changes made at once', async () => {
    const shop = await harness.open();
    await Promise.all([
      update(shop, { timeout_ms: 4_000 }),
      update(shop, { limits: { max_concurrency: 3 } }),
      update(shop, { auth_header: { name: 'X-Key', value: 'v' } }),
    ]);
    expect(await view(shop)).toMatchObject({
      timeout_ms: 4_000,
      limits: { max_concurrency: 3 },
      auth_header_name: 'X-Key',
    });
  });

  it.each([
    ['ftp://seller.example/call', 'scheme_not_allowed'],
    ['http://user:pass@127.0.0.1/', 'userinfo_not_allowed'],
    ['http://127.0.0.1/#x', 'fragment_not_allowed'],
    ['http://127.0.0.1:5432/', 'port_not_allowed'],
    ['http://market.test/api', 'own_host'],
    ['http://PUBLIC.market.test/api', 'own_host'],
    ...['127.0.0.1:3100', 'bus.test:4333', '10.9.9.9:4334', '[::1]:7001', 'db.test:7002'].map((host) => [
      `http://${host}/`,
      'own_host',
    ]),
    ['not a url', 'invalid_url'],
  ])('is not put at %s', async (url, problem) => {
    const shop = await harness.open();
    const refused = await refusalOf(update(shop, { private_endpoint_url: url }));
    expect([refused.reason, refused.details]).toEqual(['endpoint_url_refused', { problem }]);
    expect((await refusalOf(provision(newId(), newId(), url))).details).toEqual({ problem });
    expect((await view(shop)).url_host).toBe(new URL(shop.seller.url).host);
  });

  it('is not put at private addresses unless the operator allows it', async () => {
    const strict = await startGateway({ env: { ALLOW_PRIVATE_ENDPOINTS: 'false' } });
    for (const url of [
      'http://seller.test.io/',
      'https://127.0.0.1/',
      'https://[::1]/',
      'https://10.1.2.3/',
      'https://localhost/',
      'https://169.254.169.254/',
      'https://2130706433/',
    ]) {
      expect(
        await reasonOf(
          strict.catalog.bus.request(
            provisionEndpoint,
            { listingId: newId(), sellerId: newId(), url },
            newRequestContext(),
          ),
        ),
      ).toBe('endpoint_url_refused');
    }
    await strict.stop();
  });

  it.each([
    [{ name: 'X-Market-Signature', value: 'v1,x' }, 'reserved_name'],
    [{ name: 'Cookie', value: 'a=b' }, 'reserved_name'],
    [{ name: 'X Key', value: 'v' }, 'invalid_name'],
    [{ name: 'X-Key', value: 'a\r\nX-Other: b' }, 'invalid_value'],
  ])('takes no auth header like %j', async (authHeader, problem) => {
    const refused = await refusalOf(update(await harness.open(), { auth_header: authHeader }));
    expect([refused.reason, refused.details]).toEqual(['auth_header_refused', { problem }]);
  });

  it('gets its auth header with each call, and the new one soon after a change', async () => {
    const shop = await harness.open();
    await update(shop, { auth_header: { name: 'Authorization', value: 'Bearer seller-side' } });
    await eventually(async () => expect((await callOnce(shop)).headers.authorization).toBe('Bearer seller-side'));
  });

  describe('when it is provisioned', () => {
    it('is made once, with one secret, for 16 that ask at once; later only its URL changes', async () => {
      const [listingId, sellerId] = [newId(), newId()];
      const made = await Promise.all(
        Array.from({ length: 16 }, () => provision(listingId, sellerId, 'http://127.0.0.1:8080/')),
      );
      const secrets = made.flatMap(({ signingSecret }) => signingSecret ?? []);
      expect(secrets).toEqual([expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/)]);
      expect(await provision(listingId, sellerId, 'http://127.0.0.1:8081/other')).toEqual({
        status: 'unverified',
        limits: made[0]!.limits,
      });
      const shown = await harness.edge.request(getEndpoint, { listing_id: listingId }, as(sellerId));
      expect(shown.url_host).toBe('127.0.0.1:8081');
    });

    it('is never given to another seller', async () => {
      const shop = await harness.open();
      await expect(provision(shop.offering.listingId, newId(), 'http://127.0.0.1:8081/mine')).rejects.toThrow(
        'internal',
      );
      expect((await view(shop)).url_host).toBe(new URL(shop.seller.url).host);
    });

    it('stays paused when its URL changes, and otherwise has to prove itself again', async () => {
      const shop = await harness.open();
      await test(shop);
      const again = (url: string): Promise<OutputOf<typeof provisionEndpoint>> =>
        provision(shop.offering.listingId, shop.offering.sellerId, url);
      expect((await again(shop.seller.url)).status).toBe('active');
      expect((await again(`${shop.seller.url}/other`)).status).toBe('unverified');
      await update(shop, { status: 'paused' });
      expect((await again(shop.seller.url)).status).toBe('paused');
      expect((await update(shop, { status: 'active' })).status).toBe('unverified');
    });
  });

  it('goes with its listing', async () => {
    const shop = await harness.open();
    const link = await harness.transport.connect('catalog', topology.catalog);
    await link.publishEvents([
      {
        id: newId(),
        subject: listingRemoved.subject,
        payload: { listingId: shop.offering.listingId, removedAt: new Date().toISOString() },
        requestId: 'test',
      },
    ]);
    expect(await reasonOf(view(shop))).toBe('endpoint_not_found');
    await eventually(async () =>
      expect((await refusalOf(harness.call(newId(), shop))).details).toEqual({ endpoint_status: 'removed' }),
    );
    expect(
      await harness.db.inspect('SELECT 1 FROM gateway.endpoint_secrets WHERE listing_id = $1', [
        shop.offering.listingId,
      ]),
    ).toEqual([]);
  });

  describe('whose secret is rotated', () => {
    const verifies = (request: SellerRequest, secret: string): boolean => {
      try {
        return verifyRequest({ ...request, secret }).requestId !== '';
      } catch (error) {
        if (error instanceof SignatureError) return false;
        throw error;
      }
    };

    it('signs with both secrets while they overlap, so that neither a seller with the old nor one with the new fails a call', async () => {
      const shop = await harness.open();
      const before = await view(shop);
      const rotated = await rotate(shop);
      expect(rotated).toEqual({
        gateway_signing_secret: expect.stringMatching(/^whsec_/) as string,
        key_id: expect.stringMatching(/^key_/) as string,
        previous_key_id: before.signature.key_id,
        previous_secret_expires_at: expect.stringMatching(/Z$/) as string,
      });
      expect(new Date(rotated.previous_secret_expires_at).getTime() - Date.now()).toBeGreaterThan(86_390_000);
      const request = await eventually(async () => {
        const last = await callOnce(shop);
        expect(last.headers['x-market-key-id']).toBe(rotated.key_id);
        return last;
      });
      expect([
        verifies(request, shop.secret),
        verifies(request, rotated.gateway_signing_secret),
        verifies(request, `whsec_${Buffer.alloc(32, 7).toString('base64')}`),
      ]).toEqual([true, true, false]);
      for (const secret of [shop.secret, rotated.gateway_signing_secret])
        expect(() =>
          new Webhook(secret).verify(request.rawBody, request.headers as Record<string, string>),
        ).not.toThrow();
      expect((await view(shop)).signature).toEqual({
        scheme: 'standard-webhooks-v1',
        key_id: rotated.key_id,
        rotated_at: expect.stringMatching(/Z$/) as string,
        previous_secret_expires_at: rotated.previous_secret_expires_at,
      });
    });

    it('signs with the new one alone after the overlap, and never with more than two', async () => {
      const shop = await harness.open();
      const first = await rotate(shop, 600);
      const second = await rotate(shop, 600);
      const request = await eventually(async () => {
        const last = await callOnce(shop);
        expect(last.headers['x-market-key-id']).toBe(second.key_id);
        return last;
      });
      expect(
        [shop.secret, first.gateway_signing_secret, second.gateway_signing_secret].map((secret) =>
          verifies(request, secret),
        ),
      ).toEqual([false, true, true]);
      const last = await rotate(shop, 0);
      const after = await eventually(async () => {
        const call = await callOnce(shop);
        expect(call.headers['x-market-key-id']).toBe(last.key_id);
        return call;
      });
      expect(
        [second.gateway_signing_secret, last.gateway_signing_secret].map((secret) => verifies(after, secret)),
      ).toEqual([false, true]);
    });

    it('is verified by a seller that follows, for every call through many rotations', async () => {
      const known: string[] = [];
      let refused = 0;
      const shop = await harness.open(undefined, (request) => {
        // A call may read the secrets just before a rotation and arrive after it.
        if (!known.slice(-3).some((secret) => verifies(request, secret))) refused += 1;
        return '{"ok":true}';
      });
      known.push(shop.secret);
      for (let rotations = 0; rotations < 25; rotations += 1) {
        const calls = Array.from({ length: 4 }, () => callOnce(shop));
        known.push((await rotate(shop, 600)).gateway_signing_secret);
        // Waits, because a call is signed with two secrets: a seller could not verify it after two rotations.
        await Promise.all(calls);
      }
      expect(shop.seller.requests).toHaveLength(100);
      expect(refused).toBe(0);
      await eventually(async () => expect(verifies(await callOnce(shop), known.at(-1)!)).toBe(true));
    });

    it('has one current secret after many rotations at once', async () => {
      const shop = await harness.open();
      const rotations = await Promise.all(Array.from({ length: 8 }, () => rotate(shop)));
      const rows = await harness.db.inspect<{ key_id: string; expires_at: Date | null }>(
        'SELECT key_id, expires_at FROM gateway.endpoint_secrets WHERE listing_id = $1',
        [shop.offering.listingId],
      );
      expect(rows.map(({ expires_at }) => expires_at === null).sort()).toEqual([false, true]);
      const current = rows.find(({ expires_at }) => expires_at === null)!.key_id;
      expect(rotations.map(({ key_id }) => key_id)).toContain(current);
      // The secret that was added last signs first, even if its transaction began earlier.
      await harness.db.inspect(
        "UPDATE gateway.endpoint_secrets SET created_at = now() - interval '1 day' WHERE key_id = $1",
        [current],
      );
      await eventually(async () => expect((await callOnce(shop)).headers['x-market-key-id']).toBe(current));
    });
  });

  describe('when it is tested', () => {
    const failedChecks = ({ checks }: OutputOf<typeof testEndpoint>): string[] =>
      checks.filter(({ ok }) => !ok).map(({ name }) => name);

    it('is called with a signed test event, relays the answer, and becomes active', async () => {
      const shop = await harness.open(undefined, () => '{"pong": 1.0}');
      const tested = await test(shop);
      expect(tested).toEqual({
        success: true,
        seller_status_code: 200,
        latency_ms: expect.any(Number) as number,
        request_id: expect.any(String) as string,
        checks: ['reachable', 'in_time', 'json', 'status'].map((name) => ({
          name,
          ok: true,
          message: expect.any(String) as string,
        })),
        seller_response_json: '{"pong": 1.0}',
      });
      const [request] = shop.seller.requests;
      expect(verifyRequest({ ...request!, secret: shop.secret })).toMatchObject({
        event: 'endpoint.test',
        requestId: tested.request_id,
        listingId: shop.offering.listingId,
        buyerId: shop.offering.sellerId,
      });
      expect(JSON.parse(request!.rawBody)).toEqual({
        event: 'endpoint.test',
        listing_id: shop.offering.listingId,
        request_id: tested.request_id,
      });
      expect(await view(shop)).toMatchObject({
        status: 'active',
        last_test: { ok: true, status_code: 200, latency_ms: tested.latency_ms },
      });
      expect((await harness.history(shop.offering.sellerId)).total).toBe(0);
    });

    it.each<[string, ReturnType<typeof answer>, string[], number, string?]>([
      ['answers 500', answer(500, '{}'), ['status'], 500, 'failing'],
      ['answers 404', answer(404, '{}'), ['status'], 404],
      ['answers HTML', answer(200, '<html>'), ['json', 'status'], 502],
      ['redirects', answer(302, '', { location: 'http://127.0.0.1:1' }), ['json', 'status'], 302],
    ])(
      'says coarsely what is wrong with one that %s, and leaves it unverified, or failing',
      async (_name, behaviour, failed, statusCode, status = 'unverified') => {
        const shop = await harness.open(undefined, behaviour);
        const tested = await test(shop);
        expect([tested.success, failedChecks(tested), tested.seller_status_code]).toEqual([false, failed, statusCode]);
        expect(await view(shop)).toMatchObject({ status, last_test: { ok: false, status_code: statusCode } });
      },
    );

    it('says no more of one that cannot be reached than that', async () => {
      const shop = await harness.open();
      await update(shop, { private_endpoint_url: `http://127.0.0.1:${await freePort()}/` });
      const tested = await test(shop);
      expect(tested.checks).toEqual([{ name: 'reachable', ok: false, message: 'The endpoint could not be reached' }]);
    });

    it('waits no longer than its timeout', async () => {
      const silent = held();
      const shop = await harness.open(undefined, silent.behaviour);
      await update(shop, { timeout_ms: 1_000 });
      const tested = await test(shop);
      expect(failedChecks(tested)).toEqual(['in_time']);
      silent.release();
    });

    it('does not vouch for an URL that changed meanwhile', async () => {
      const gate = held();
      const shop = await harness.open(undefined, gate.behaviour);
      const testing = test(shop);
      await eventually(() => expect(shop.seller.requests).toHaveLength(1));
      await update(shop, { private_endpoint_url: 'http://127.0.0.1:8081/other' });
      gate.release();
      expect((await testing).success).toBe(true);
      expect(await view(shop)).toMatchObject({ status: 'unverified', last_test: null });
    });

    it('is tested at most ten times a minute', async () => {
      const shop = await harness.open();
      const outcomes = await Promise.allSettled(Array.from({ length: 14 }, () => test(shop)));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
      const refused = await refusalOf(test(shop));
      expect(refused.reason).toBe('too_many_tests');
      expect(refused.details.retry_after_seconds).toBeLessThanOrEqual(6);
      expect(shop.seller.requests).toHaveLength(10);
    });
  });
});
