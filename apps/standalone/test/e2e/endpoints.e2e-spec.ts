import { sandboxPayer, type CreatedListing } from '@market/sdk';
import { eventually, startMarketplace } from '@market/testing';
import type { IncomingHttpHeaders } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { expectBooksInOrder } from '../support/books.js';
import { callOnce, payFor, withRelayId } from '../support/buyer.js';
import { listServer, rogueServer, type RogueServer } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

interface Seen {
  headers: IncomingHttpHeaders;
  rawBody: string;
}

inEachMode('a private endpoint', (harness) => {
  let seller: Agent;
  let buyer: Agent;
  let server: RogueServer;
  let listing: CreatedListing;
  let seen: Seen[];

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    server = await rogueServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        seen.push({ headers: request.headers, rawBody: Buffer.concat(chunks).toString() });
        response
          .writeHead(200, { 'content-type': 'application/json', 'set-cookie': 'tracking=1', 'x-seller': 'header' })
          .end('{"ok":true}');
      });
    });
    listing = await listServer(seller, server.url);
  });
  beforeEach(() => {
    seen = [];
  });
  afterAll(async () => {
    await expectBooksInOrder(harness);
    await server.close();
  });

  const sell = (body: unknown) => buyer.market.call(listing, body as object, { pay: sandboxPayer(buyer.market) });
  const verifies = ({ headers, rawBody }: Seen, secret: string): boolean => {
    try {
      new Webhook(secret).verify(rawBody, headers as Record<string, string>);
      return true;
    } catch {
      return false;
    }
  };

  describe('when it is called', () => {
    it('gets the bytes of the buyer alone, which a stock library verifies [spec: gateway-rule.4, events.signed-request]', async () => {
      const body = '{ "b":2,\r\n\t"a":1.0, "text":"\\u0041/\\/ €" }';
      const relayRequestId = await payFor(buyer, listing, body);
      const answer = await callOnce(buyer, listing, body, {
        ...withRelayId(relayRequestId),
        cookie: 'session=of-the-buyer',
        'x-secret-header': 'of-the-buyer',
        traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`,
      });
      expect(answer.status).toBe(200);
      const [call] = seen;
      expect(call!.rawBody).toBe(body);
      expect(verifies(call!, listing.gateway_signing_secret!)).toBe(true);
      expect(verifies({ ...call!, rawBody: `${body} ` }, listing.gateway_signing_secret!)).toBe(false);
      expect(call!.headers).toMatchObject({
        'content-type': 'application/json',
        'accept-encoding': 'identity',
        'x-market-event': 'gateway.call',
        'x-market-listing-id': listing.id,
        'x-market-buyer-id': buyer.id,
        'x-market-attempt': '1',
        'x-market-max-response-bytes': '1048576',
        'x-market-request-id': call!.headers['webhook-id'],
        'x-market-signature': call!.headers['webhook-signature'],
        traceparent: expect.stringMatching(new RegExp(`^00-${'1'.repeat(32)}-`)),
      });
      const [sentAt, deadline] = ['x-market-timestamp', 'x-market-deadline'].map((name) => Number(call!.headers[name]));
      expect(deadline! - sentAt!).toBeGreaterThan(0);
      expect(deadline! - sentAt!).toBeLessThanOrEqual(30);
      const everything = JSON.stringify(call);
      expect(everything).not.toContain('of-the-buyer');
      expect(everything).not.toContain(buyer.registration.api_key);
      expect(call!.headers.authorization).toBeUndefined();
      expect(answer.headers.get('set-cookie')).toBeNull();
      expect(answer.headers.get('x-seller')).toBeNull();
    });

    it('gets the header its owner set, which nobody can read again', async () => {
      const endpoint = await seller.market.endpoint.update(listing, {
        auth_header: { name: 'X-Api-Token', value: 'the-sellers-token' },
      });
      expect(endpoint).toMatchObject({ auth_header_name: 'X-Api-Token', has_auth_header: true });
      expect(JSON.stringify(endpoint)).not.toContain('the-sellers-token');
      await eventually(async () => {
        await sell({ header: seen.length });
        expect(seen.at(-1)!.headers['x-api-token']).toBe('the-sellers-token');
      });
      expect(JSON.stringify(await seller.market.endpoint.get(listing))).not.toContain('the-sellers-token');
      await seller.market.endpoint.update(listing, { auth_header: null });
      await eventually(async () => {
        await sell({ header: seen.length, removed: true });
        expect(seen.at(-1)!.headers['x-api-token']).toBeUndefined();
      });
    });
  });

  it('may give the largest answer there is, also where every byte of it is escaped on the way', async () => {
    const text = '\\"'.repeat((4_194_304 - 2) / 2);
    const large = await rogueServer(
      (_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(`"${text}"`),
    );
    const own = await listServer(seller, large.url);
    await seller.market.endpoint.update(own, { limits: { max_response_bytes: 4_194_304 } });
    const relayRequestId = await payFor(buyer, own, { large: true });
    // On a busy machine the copies of the answer may take so long that the caller gets a 202.
    const answer = await eventually(
      async () => {
        const outcome = await callOnce(buyer, own, { large: true }, withRelayId(relayRequestId));
        expect(outcome.status).not.toBe(202);
        return outcome;
      },
      // The caller waits for several seconds before it gets a 202.
      { withinMs: 20_000 },
    );
    expect([answer.status, (answer.json as { data: { seller_response: string } }).data.seller_response.length]).toEqual(
      [200, text.length / 2],
    );
    await large.close();
  });

  describe('that leads back to the marketplace', () => {
    it('is not set at any address of its own', async () => {
      const { port } = new URL(harness.baseUrl);
      for (const host of ['127.0.0.1', 'localhost', '[::1]', '0.0.0.0']) {
        const answer = await seller.market.send('PUT', `/listings/${listing.id}/endpoint`, {
          body: { private_endpoint_url: `http://${host}:${port}/api/v1/gateway/${listing.id}` },
        });
        expect(answer).toMatchObject({
          status: 400,
          json: { error: { details: { reason: 'endpoint_url_refused', problem: 'own_host' } } },
        });
      }
    });

    it("is called once, by whatever name it is reached: a request that was here is turned away, another marketplace's is not", async () => {
      const refused = {
        success: false,
        error: {
          code: 'FORBIDDEN',
          details: { reason: 'call_loops' },
          recovery: { next_action: 'choose_another_listing' },
        },
      };
      const marks: IncomingHttpHeaders[string][] = [];
      const waysIn = (['/gateway', '/x402'] as const).map((way) => `${harness.baseUrl}/api/v1${way}/${listing.id}`);
      const mirror = await rogueServer((request, response) => {
        marks.push(request.headers['x-market-hop']);
        const headers = {
          'x-market-hop': `elsewhere.example, ${String(request.headers['x-market-hop'])}`,
          authorization: `Bearer ${buyer.registration.api_key}`,
        };
        void Promise.all(
          waysIn.map(async (way) => (await fetch(way, { method: 'POST', body: '{}', headers })).json()),
        ).then((answers) =>
          response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answers)),
        );
      });
      const looping = await listServer(seller, mirror.url);
      const answer = await callOnce(buyer, looping, {}, withRelayId(await payFor(buyer, looping, {})));
      expect((answer.json as { data: { seller_response: unknown } }).data.seller_response).toMatchObject([
        refused,
        refused,
      ]);
      expect(mirror.calls).toBe(1);
      const statusWith = async (mark: string, way: string, method = 'POST'): Promise<number> =>
        (
          await fetch(way, {
            method,
            headers: {
              'content-type': 'application/json',
              'x-market-hop': mark,
              authorization: `Bearer ${buyer.registration.api_key}`,
            },
            ...(method === 'POST' ? { body: '{}' } : {}),
          })
        ).status;
      for (const way of waysIn)
        expect([await statusWith('elsewhere.example', way), await statusWith(String(marks[0]), way)]).toEqual([
          402, 403,
        ]);
      expect([await statusWith('1', waysIn[1]!, 'GET'), await statusWith(String(marks[0]), waysIn[1]!, 'GET')]).toEqual(
        [402, 403],
      );
      await mirror.close();
    });

    it('is told which marketplaces a call or a test has passed through, unless they are more than a few', async () => {
      const own = String(new URL((await seller.market.listings.get(listing)).gateway_url!).host);
      const gift = await listServer(seller, server.url, { pricing_amount: 0 });
      const ways: [Agent, string][] = [
        [buyer, `/gateway/${gift.id}`],
        [seller, `/listings/${gift.id}/endpoint/test`],
      ];
      for (const [{ market }, path] of ways) {
        const passed = (names: string) => market.send('POST', path, { body: {}, headers: { 'x-market-hop': names } });
        expect((await passed('A.example,b.example, no name! ,c.example, d.example:8080')).status).toBe(200);
        expect(seen.at(-1)!.headers['x-market-hop']).toBe(`a.example, b.example, c.example, d.example:8080, ${own}`);
        expect((await passed('a.example,b.example,c.example,d.example,e.example')).status).toBe(403);
      }
      expect(seen).toHaveLength(ways.length);
    });

    it('is called once also by way of another marketplace, which calls no further', async () => {
      const elsewhere = await startMarketplace({ mode: 'standalone' });
      try {
        const [theirSeller, theirBuyer] = [await registerAgent(elsewhere), await registerAgent(elsewhere)];
        const theirs = await listServer(theirSeller, server.url, { pricing_amount: 0 });
        const ours = await listServer(seller, server.url, { pricing_amount: 0 });
        const lead = (from: Agent, listed: CreatedListing, to: Agent, onward: string) =>
          from.market.endpoint.update(listed, {
            private_endpoint_url: onward,
            auth_header: { name: 'Authorization', value: `Bearer ${to.registration.api_key}` },
          });
        await lead(seller, ours, theirBuyer, `${elsewhere.baseUrl}/api/v1/gateway/${theirs.id}`);
        await lead(theirSeller, theirs, buyer, `${harness.baseUrl}/api/v1/gateway/${ours.id}`);
        const { json } = await callOnce(buyer, ours, {});
        expect(json).toMatchObject({
          data: {
            seller_response: {
              data: { seller_status_code: 403, seller_response: { error: { details: { reason: 'call_loops' } } } },
            },
          },
        });
        for (const [{ market }, listed] of [
          [seller, ours],
          [theirSeller, theirs],
        ] as const)
          expect((await market.gatewayRequests.list({ role: 'seller', listing_id: listed.id })).data).toHaveLength(1);
      } finally {
        await elsewhere.stop();
      }
    }, 240_000);
  });

  describe('as its owner sees it', () => {
    it('shows its settings and no secret, path or credential [spec: GET /listings/{id}/endpoint]', async () => {
      const own = await listServer(seller, `${server.url}/a-secret-path?token=hidden`);
      const endpoint = await seller.market.endpoint.get(own);
      expect(endpoint).toEqual({
        listing_id: own.id,
        status: 'unverified',
        url_host: new URL(server.url).host,
        auth_header_name: null,
        has_auth_header: false,
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
          key_id: expect.any(String),
          rotated_at: null,
          previous_secret_expires_at: null,
        },
        last_test: null,
        consecutive_failures: 0,
        updated_at: expect.any(String),
      });
      const everywhere = JSON.stringify([
        endpoint,
        await seller.market.listings.get(own),
        await buyer.market.listings.get(own),
        await buyer.market.listings.search({ q: own.name }),
      ]);
      expect(everywhere).not.toMatch(/secret-path|hidden|whsec_/);
    });

    it(
      'belongs to its owner alone, to see and to change ' +
        '[spec: GET /listings/{id}/endpoint, PUT /listings/{id}/endpoint, POST /listings/{id}/endpoint/test, ' +
        'POST /listings/{id}/endpoint/rotate-secret]',
      async () => {
        for (const request of [
          () => buyer.market.endpoint.get(listing),
          () => buyer.market.endpoint.update(listing, { status: 'paused' }),
          () => buyer.market.endpoint.test(listing),
          () => buyer.market.endpoint.rotateSecret(listing),
        ]) {
          await expect(request()).rejects.toMatchObject({
            status: 403,
            code: 'FORBIDDEN',
            details: { reason: 'not_owner' },
          });
        }
        await expect(seller.market.endpoint.get('01995bad-5c00-7000-8000-00000000dead')).rejects.toMatchObject({
          status: 404,
        });
        expect(await sell({ still: 'open' })).toMatchObject({ billable: true });
      },
    );

    it('changes what it is given and leaves the rest [spec: PUT /listings/{id}/endpoint]', async () => {
      const own = await listServer(seller, server.url);
      const before = await seller.market.endpoint.get(own);
      const changed = { ...before, updated_at: expect.any(String) };
      const put = async (change: object) =>
        (await seller.market.send('PUT', `/listings/${own.id}/endpoint`, { body: change })).json;
      expect(await put({ private_endpoint_url: server.url.replace('/call', '/elsewhere') })).toEqual({
        success: true,
        data: changed,
      });
      expect(await put({ auth_header: { name: 'X-Token', value: 'v' } })).toEqual({
        success: true,
        data: Object.assign(changed, { auth_header_name: 'X-Token', has_auth_header: true }),
      });
      expect(await put({ timeout_ms: 1_000 })).toEqual({
        success: true,
        data: Object.assign(changed, { timeout_ms: 1_000 }),
      });
      expect(await put({ timeout_ms: 120_000 })).toEqual({
        success: true,
        data: Object.assign(changed, { timeout_ms: 120_000 }),
      });
      const limits = {
        max_request_bytes: 1_048_576,
        max_response_bytes: 4_194_304,
        idle_timeout_ms: 300_000,
        stream_timeout_ms: 3_600_000,
        job_deadline_seconds: 86_400,
        max_concurrency: 256,
        requests_per_minute: 60_000,
      };
      const shown = { ...limits, max_file_bytes: 4_194_304 };
      expect(await put({ limits })).toEqual({ success: true, data: Object.assign(changed, { limits: shown }) });
      expect(await put({ limits: { requests_per_minute: null } })).toEqual({
        success: true,
        data: Object.assign(changed, { limits: { ...shown, requests_per_minute: null } }),
      });
      expect(await put({ status: 'paused' })).toEqual({
        success: true,
        data: Object.assign(changed, { status: 'paused' }),
      });
      expect(await put({ status: 'active', auth_header: null })).toEqual({
        success: true,
        data: Object.assign(changed, { status: 'unverified', auth_header_name: null, has_auth_header: false }),
      });
      expect(await seller.market.endpoint.get(own)).toEqual(changed);
    });

    it.each([
      [{ timeout_ms: 1000.5 }],
      [{ limits: { max_response_bytes: 33_554_433 } }],
      [{ private_endpoint_url: 'http://user:pass@example.com/' }],
      [{ auth_header: { name: 'X-Fine', value: 'line\r\nbreak' } }],
    ])('refuses %j and stays as it was', async (change) => {
      const before = await seller.market.endpoint.get(listing);
      const answer = await seller.market.send('PUT', `/listings/${listing.id}/endpoint`, { body: change });
      expect(answer).toMatchObject({ status: 400, json: { success: false, error: { code: 'BAD_REQUEST' } } });
      expect(await seller.market.endpoint.get(listing)).toEqual(before);
    });
  });

  describe('when it is tested', () => {
    it('is called signed, and becomes active by passing [spec: POST /listings/{id}/endpoint/test, events.signed-request]', async () => {
      const own = await listServer(seller, server.url);
      const test = await seller.market.endpoint.test(own);
      expect(test).toEqual({
        success: true,
        seller_status_code: 200,
        latency_ms: expect.any(Number),
        request_id: expect.any(String),
        checks: expect.any(Array),
        seller_response: { ok: true },
      });
      expect(test.checks.every(({ ok }) => ok)).toBe(true);
      expect(seen[0]!.headers).toMatchObject({
        'x-market-event': 'endpoint.test',
        'x-market-request-id': test.request_id,
      });
      expect(verifies(seen[0]!, own.gateway_signing_secret!)).toBe(true);
      expect(await seller.market.endpoint.get(own)).toMatchObject({
        status: 'active',
        last_test: { ok: true, status_code: 200 },
      });
    });

    it('says what failed without telling more of the network than that', async () => {
      const gone = await rogueServer(() => undefined);
      const own = await listServer(seller, gone.url);
      await gone.close();
      const test = await seller.market.endpoint.test(own);
      expect(test).toMatchObject({ success: false, seller_status_code: 502, seller_response: null });
      expect(JSON.stringify(test)).not.toMatch(/ECONN|errno|127\.0\.0\.1/);
    });

    it('is tested ten times a minute at most', async () => {
      const own = await listServer(seller, server.url);
      const answers = await Promise.all(
        Array.from({ length: 12 }, () => seller.market.send('POST', `/listings/${own.id}/endpoint/test`)),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([...Array<number>(10).fill(200), 429, 429]);
      const late = answers.find(({ status }) => status === 429)!;
      expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0);
    });
  });

  describe('whose secret is rotated', () => {
    it('signs with both while they overlap, and shows the new one once [spec: POST /listings/{id}/endpoint/rotate-secret]', async () => {
      const own = await listServer(seller, server.url);
      const rotated = await seller.market.endpoint.rotateSecret(own, { overlapSeconds: 60 });
      expect(rotated).toEqual({
        gateway_signing_secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
        key_id: expect.any(String),
        previous_key_id: expect.any(String),
        previous_secret_expires_at: expect.stringMatching(/Z$/),
      });
      expect(JSON.stringify(await seller.market.endpoint.get(own))).not.toContain('whsec_');
      expect(rotated.gateway_signing_secret).not.toBe(own.gateway_signing_secret);
      await eventually(async () => {
        await buyer.market.call(own, { rotated: seen.length }, { pay: sandboxPayer(buyer.market) });
        const call = seen.at(-1)!;
        expect([verifies(call, own.gateway_signing_secret!), verifies(call, rotated.gateway_signing_secret)]).toEqual([
          true,
          true,
        ]);
      });
      expect((await seller.market.endpoint.get(own)).signature).toMatchObject({
        key_id: rotated.key_id,
        previous_secret_expires_at: rotated.previous_secret_expires_at,
      });
    });
  });
});
