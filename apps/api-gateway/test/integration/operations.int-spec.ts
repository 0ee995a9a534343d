import { createListing, getListing, removeListing, searchListings, updateListing } from '@market/contracts/catalog';
import {
  getEndpoint,
  listGatewayRequests,
  rotateEndpointSecret,
  testEndpoint,
  updateEndpoint,
} from '@market/contracts/gateway';
import { createApiKey, createChallenge, getAgents, register, revokeApiKey } from '@market/contracts/identity';
import { getReceipt, listLedger, listReceipts, paySandbox } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { entryExample } from '../../src/books/books.examples.js';
import { gatewayRequestExample } from '../../src/gateway/gateway.examples.js';
import { createListingExample, listingDetailExample, listingExample } from '../../src/listings/listings.examples.js';
import {
  CATEGORY_ID,
  GATEWAY_REQUEST_ID,
  KEY_ID,
  LISTING_ID,
  RECEIPT_ID,
  RELAY_REQUEST_ID,
  WALLET,
} from '../../src/openapi/example-values.js';
import { answerEverything } from '../support/answers.js';
import { EdgeHarness } from '../support/edge-harness.js';
import { expectRefused, send } from '../support/http.js';
import { RETIRED_PATHS } from '../support/retired-paths.js';

describe('the operations of the edge', () => {
  let harness: EdgeHarness;
  let key: string;

  beforeEach(async () => {
    harness = await EdgeHarness.start();
    answerEverything(harness.bus);
    ({ key } = harness.agent());
  });
  afterEach(() => harness.stop());

  describe('identity', () => {
    it('GET /health says version and mode', async () => {
      const { status, json } = await send(harness, 'GET', '/health');
      expect([status, json.data]).toEqual([
        200,
        {
          status: 'ok',
          version: '1.0.0',
          timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
          mode: { payments: 'sandbox' },
        },
      ]);
    });

    it('POST /auth/challenge answers 200 with message and puzzle', async () => {
      const { status, json, headers } = await send(harness, 'POST', '/auth/challenge', {
        body: { wallet_address: WALLET, purpose: 'recovery', chain_id: 8453, agent_id: LISTING_ID },
      });
      expect([status, Object.keys(json.data!)]).toEqual([200, ['message', 'nonce', 'expires_in', 'pow']]);
      expect(headers['cache-control']).toBe('no-store');
      expect(harness.bus.asked(createChallenge)).toEqual([
        { wallet_address: WALLET, purpose: 'recovery', chain_id: 8453, agent_id: LISTING_ID },
      ]);
    });

    it('POST /register answers 201 with the key, shown once', async () => {
      const { status, json } = await send(harness, 'POST', '/register', {
        body: { wallet_address: WALLET, signature: '0xs', nonce: 'n', pow_nonce: 'p', display_name: 'Ä 👩' },
      });
      expect([status, Object.keys(json.data!)]).toEqual([
        201,
        ['user_id', 'wallet_address', 'account_type', 'api_key', 'authorization_header'],
      ]);
      expect(harness.bus.asked(register)).toEqual([
        { wallet_address: WALLET, signature: '0xs', nonce: 'n', pow_nonce: 'p', display_name: 'Ä 👩' },
      ]);
    });

    it('POST /register answers 409 and points to recovery for a wallet that is registered', async () => {
      harness.bus.refuses(register, 'wallet_already_registered', {});
      const answer = await send(harness, 'POST', '/register', {
        body: { wallet_address: WALLET, signature: 's', nonce: 'n', pow_nonce: 'p' },
      });
      expectRefused(answer, 409, 'CONFLICT', 'wallet_already_registered');
      expect(answer.json.error!.recovery).toMatchObject({ next_action: 'recover_key' });
    });

    it('GET /me is the profile of whoever the key belongs to', async () => {
      const { status, json } = await send(harness, 'GET', '/me', { key });
      expect([status, (json.data as unknown as { wallets: unknown[] }).wallets]).toEqual([
        200,
        [expect.objectContaining({ chain_type: 'evm' })],
      ]);
    });

    it('lists, creates and revokes API keys', async () => {
      expect((await send(harness, 'GET', '/api-keys', { key })).json.data).toEqual([
        expect.not.objectContaining({ key: expect.anything() }),
      ]);
      const created = await send(harness, 'POST', '/api-keys', {
        key,
        body: { name: 'n', scopes: ['read'], expires_at: '2027-01-01T00:00:00+01:00' },
      });
      expect([created.status, created.json.data]).toEqual([201, expect.objectContaining({ key: expect.any(String) })]);
      expect(harness.bus.asked(createApiKey)).toEqual([
        { name: 'n', scopes: ['read'], expires_at: '2027-01-01T00:00:00+01:00' },
      ]);
      expect((await send(harness, 'DELETE', `/api-keys/${KEY_ID}`, { key })).json.data).toEqual({
        id: KEY_ID,
        revoked: true,
      });
    });
  });

  describe('catalog', () => {
    it('GET /categories and GET /listings answer strangers', async () => {
      expect((await send(harness, 'GET', '/categories')).json.data).toHaveLength(1);
      const { json, status } = await send(
        harness,
        'GET',
        `/listings?q=rain%20%22now%22&category=${CATEGORY_ID}&pricing_model=per_call&delivery_type=api` +
          '&min_price=0.01&max_price=2&sort=price_low&page=2&limit=20',
      );
      expect([status, json]).toEqual([
        200,
        { success: true, data: [listingExample], pagination: { page: 2, limit: 20, total: 41, totalPages: 3 } },
      ]);
      expect(harness.bus.asked(searchListings)).toEqual([
        {
          q: 'rain "now"',
          categoryId: CATEGORY_ID,
          pricingModel: 'per_call',
          deliveryType: 'api',
          minPriceMicros: '10000',
          maxPriceMicros: '2000000',
          mine: false,
          sort: 'price_low',
          page: 2,
          limit: 20,
        },
      ]);
    });

    it('GET /listings/{id} takes uuids and slugs, for strangers and for owners', async () => {
      const principals: unknown[] = [];
      harness.bus.answers(
        getListing,
        (_, context) => (principals.push(context.principal?.accountId), listingDetailExample),
      );
      const owner = harness.agent();
      const noReader = harness.agent(['write']);
      await send(harness, 'GET', '/listings/hourly-weather');
      await send(harness, 'GET', `/listings/${LISTING_ID.toUpperCase()}`, { key: owner.key });
      await send(harness, 'GET', '/listings/hourly-weather', { key: noReader.key });
      expect(principals).toEqual([undefined, owner.principal.accountId, undefined]);
      expect(harness.bus.asked(getListing)).toEqual([
        { ref: 'hourly-weather' },
        { ref: LISTING_ID },
        { ref: 'hourly-weather' },
      ]);
    });

    it('POST /listings passes on every field as it was sent', async () => {
      const everything = {
        ...createListingExample,
        challenge: 'c'.repeat(64),
        category_id: CATEGORY_ID,
        pricing_amount: 0.123457,
        usage: { unit: 'token', per: 1_000, tiers: [{ up_to: null, price: 0.1 }] },
        included_calls: 500,
        included_units: { unit: 'page', units: 500, per_call: 5 },
        free_calls: 3,
        pricing_currency: 'USD',
        delivery_type: 'batch',
        auth_method: 'none',
        formats: ['json', 'csv'],
        request_formats: ['json', 'csv'],
        docs: 'docs',
        connection_instructions: 'ci',
        example_outputs: [{ label: 'l', content: 'c' }],
        demo_endpoint: 'https://demo.example',
        github_url: 'https://github.example',
        logo_url: 'https://logo.example/x.png',
        expected_delivery: 'soon',
        risk_disclaimers: 'none',
        sla: '99%',
        language: 'fr',
        output_schema: { type: 'object' },
        status: 'draft',
      };
      const { status, json } = await send(harness, 'POST', '/listings', { key, body: everything });
      expect([status, Object.keys(json.data!)]).toEqual([
        201,
        [
          'id',
          'name',
          'slug',
          'provider_id',
          'status',
          'pricing_model',
          'pricing_amount',
          'created_at',
          'gateway_signing_secret',
        ],
      ]);
      expect(harness.bus.asked(createListing)).toEqual([everything]);
    });

    it('PATCH passes on what is sent and nothing else, DELETE removes', async () => {
      expect(
        (await send(harness, 'PATCH', `/listings/${LISTING_ID}`, { key, body: { pricing_amount: 0, tags: [] } }))
          .status,
      ).toBe(200);
      expect(harness.bus.asked(updateListing)).toEqual([{ listing_id: LISTING_ID, pricing_amount: 0, tags: [] }]);
      harness.bus.answers(removeListing, ({ listing_id }) => ({
        id: listing_id,
        deleted: false,
        status: 'suspended' as const,
      }));
      expect((await send(harness, 'DELETE', `/listings/${LISTING_ID}`, { key })).json.data).toEqual({
        id: LISTING_ID,
        deleted: false,
        status: 'suspended',
      });
    });
  });

  describe('endpoints', () => {
    it('sees, changes and rotates', async () => {
      expect((await send(harness, 'GET', `/listings/${LISTING_ID}/endpoint`, { key })).json.data).toMatchObject({
        url_host: 'weather.seller.example',
      });
      expect(
        (
          await send(harness, 'PUT', `/listings/${LISTING_ID}/endpoint`, {
            key,
            body: { auth_header: null, limits: { requests_per_minute: null, max_concurrency: 2 }, status: 'paused' },
          })
        ).status,
      ).toBe(200);
      expect(harness.bus.asked(updateEndpoint)).toEqual([
        {
          listing_id: LISTING_ID,
          auth_header: null,
          limits: { requests_per_minute: null, max_concurrency: 2 },
          status: 'paused',
        },
      ]);
      expect((await send(harness, 'POST', `/listings/${LISTING_ID}/endpoint/rotate-secret`, { key })).status).toBe(200);
      expect(
        (
          await send(harness, 'POST', `/listings/${LISTING_ID}/endpoint/rotate-secret`, {
            key,
            body: { overlap_seconds: 0 },
          })
        ).status,
      ).toBe(200);
      expect(harness.bus.asked(rotateEndpointSecret).map(({ overlap_seconds }) => overlap_seconds)).toEqual([
        86_400, 0,
      ]);
    });

    it("relays the seller's JSON of a test byte for byte", async () => {
      const outcome = { success: false, seller_status_code: 502, latency_ms: 3, request_id: 'r', checks: [] };
      harness.bus.answers(testEndpoint, () => ({
        ...outcome,
        seller_response_json: '{"n":1.10,"big":12345678901234567890 }',
      }));
      const { text } = await send(harness, 'POST', `/listings/${LISTING_ID}/endpoint/test`, { key });
      expect(text).toBe(
        '{"success":true,"data":{"success":false,"seller_status_code":502,"latency_ms":3,"request_id":"r",' +
          '"checks":[],"seller_response":{"n":1.10,"big":12345678901234567890 }}}',
      );
      harness.bus.answers(testEndpoint, () => ({ ...outcome, seller_response_json: null }));
      expect((await send(harness, 'POST', `/listings/${LISTING_ID}/endpoint/test`, { key })).json.data).toMatchObject({
        seller_response: null,
      });
    });
  });

  describe('history and books', () => {
    it('GET /gateway-requests names both parties and asks for names once', async () => {
      const first = await send(
        harness,
        'GET',
        '/gateway-requests?role=seller&status=succeeded&from=2026-01-01&to=2026-12-31T00:00:00Z',
        { key },
      );
      await send(harness, 'GET', `/gateway-requests/${GATEWAY_REQUEST_ID}`, { key });
      expect(first.json.data).toEqual([gatewayRequestExample]);
      expect(harness.bus.asked(listGatewayRequests)).toEqual([
        {
          role: 'seller',
          status: 'succeeded',
          from: '2026-01-01T00:00:00.000Z',
          to: '2026-12-31T00:00:00.000Z',
          page: 1,
          limit: 20,
        },
      ]);
      expect(harness.bus.asked(getAgents)).toHaveLength(1);
    });

    it('GET /receipts and GET /receipts/{id} give the parties by name', async () => {
      expect((await send(harness, 'GET', '/receipts?role=buyer&limit=50', { key })).json.pagination).toEqual({
        page: 1,
        limit: 50,
        total: 1,
        totalPages: 1,
      });
      expect(harness.bus.asked(listReceipts)).toEqual([{ role: 'buyer', page: 1, limit: 50 }]);
      const { data } = (await send(harness, 'GET', `/receipts/${RECEIPT_ID}`, { key })).json;
      expect(data).toMatchObject({
        relay_request_id: RELAY_REQUEST_ID,
        payer: { display_name: 'Field Planner', avatar_url: null },
        seller: { display_name: 'Nimbus', avatar_url: null },
      });
      expect(Object.keys(data!)).not.toEqual(expect.arrayContaining(['payer_id']));
    });

    it('GET /ledger answers as JSON and as CSV', async () => {
      expect((await send(harness, 'GET', '/ledger?type=seller_credit&direction=credit', { key })).json.data).toEqual([
        entryExample,
      ]);
      const csv = await send(harness, 'GET', '/ledger?format=csv&page=3', { key });
      expect([csv.status, csv.headers['content-type'], csv.headers['cache-control']]).toEqual([
        200,
        'text/csv; charset=utf-8',
        'no-store',
      ]);
      expect(csv.text.split('\r\n')[1]).toContain(entryExample.id);
      expect(harness.bus.asked(listLedger)).toEqual([
        { type: 'seller_credit', direction: 'credit', page: 1, limit: 20 },
        { page: 3, limit: 20 },
      ]);
    });
  });

  it('POST /sandbox/payments/{id}/pay pays with an outcome, or with none', async () => {
    expect((await send(harness, 'POST', `/sandbox/payments/${RELAY_REQUEST_ID}/pay`, { key })).status).toBe(200);
    expect(
      (
        await send(harness, 'POST', `/sandbox/payments/${RELAY_REQUEST_ID}/pay`, {
          key,
          body: { outcome: 'underpaid' },
        })
      ).status,
    ).toBe(200);
    expect(harness.bus.asked(paySandbox)).toEqual([
      { relay_request_id: RELAY_REQUEST_ID, outcome: 'paid' },
      { relay_request_id: RELAY_REQUEST_ID, outcome: 'underpaid' },
    ]);
  });

  it.each(RETIRED_PATHS)('answers 410 with guidance to any method of /%s', async (path) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await send(
        harness,
        method,
        `/${path}`,
        method === 'GET' ? {} : { body: '{"not json', headers: { 'content-type': 'text/plain' } },
      );
      expectRefused(answer, 410, 'GONE', 'setup_retired');
      expect(answer.json.error).toMatchObject({
        details: { replacement: 'POST /gateway/{listingId}' },
        recovery: { next_action: 'use_direct_gateway' },
      });
      expect(answer.headers).toMatchObject({
        deprecation: '@1793491200',
        sunset: 'Sun, 01 Nov 2026 00:00:00 GMT',
        link: '<https://market.test/docs>; rel="deprecation"; type="text/html"',
      });
    }
  });

  it('refuses as unknown what is no uuid, without asking anyone', async () => {
    for (const id of ['x', 'hourly-weather', `${newId()}x`, '%00', 'null', '0', '..%2f..', "'%20OR%201=1--"]) {
      expectRefused(await send(harness, 'DELETE', `/api-keys/${id}`, { key }), 404, 'NOT_FOUND', 'api_key_not_found');
      expectRefused(
        await send(harness, 'PATCH', `/listings/${id}`, { key, body: {} }),
        404,
        'NOT_FOUND',
        'listing_not_found',
      );
      expectRefused(await send(harness, 'DELETE', `/listings/${id}`, { key }), 404, 'NOT_FOUND', 'listing_not_found');
      expectRefused(
        await send(harness, 'GET', `/listings/${id}/endpoint`, { key }),
        404,
        'NOT_FOUND',
        'endpoint_not_found',
      );
      expectRefused(
        await send(harness, 'GET', `/gateway-requests/${id}`, { key }),
        404,
        'NOT_FOUND',
        'gateway_request_not_found',
      );
      expectRefused(await send(harness, 'GET', `/receipts/${id}`, { key }), 404, 'NOT_FOUND', 'receipt_not_found');
      expectRefused(
        await send(harness, 'POST', `/sandbox/payments/${id}/pay`, { key }),
        404,
        'NOT_FOUND',
        'payment_not_found',
      );
    }
    for (const contract of [revokeApiKey, updateListing, removeListing, getEndpoint, getReceipt, paySandbox])
      expect(harness.bus.asked(contract)).toEqual([]);
  });
});
