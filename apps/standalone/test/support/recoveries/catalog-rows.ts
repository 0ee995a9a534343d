import { newId } from '@market/kernel';
import { evmWallet, solveProofOfWork } from '@market/sdk';
import { OPERATOR } from '@market/testing';
import { bodyOf } from '../buyer.js';
import { signIn } from '../fuzz/fixtures.js';
import { free, perCall } from '../listings.js';
import { freeFeed, listFeed } from '../subscriber.js';
import { nested, SLOW } from './slow-schema.js';
import type { Rows, Sent, Walk, World } from './walk.js';

/** A listing that is refused and, with the same challenge and its solution, accepted once it is mended. */
async function listing(world: World, wrong: object, right: object): Promise<Walk> {
  const { market } = await world.agent();
  const { challenge, difficulty } = await market.listings.challenge();
  const proof = { challenge, pow_nonce: await solveProofOfWork({ challenge, difficulty }) };
  return {
    request: { by: market, method: 'POST', path: '/listings', body: { ...proof, ...wrong } },
    follow: () => ({ body: { ...proof, ...right } }),
  };
}

/** A change of the endpoint of a new shop. */
async function endpoint(world: World, wrong: object, right: object): Promise<Walk> {
  const seller = await world.agent();
  const { listing } = await world.open(seller);
  const path = `/listings/${listing.id}/endpoint`;
  return { request: { by: seller.market, method: 'PUT', path, body: wrong }, follow: () => ({ body: right }) };
}

const operator = async ({ harness, anyone }: World) =>
  anyone.authorizedBy(`Bearer ${(await signIn(harness, evmWallet(OPERATOR.key))).token}`);

export const catalogRows: Rows = {
  async 'request_invalid fix_request'(world) {
    const { market } = await world.agent();
    const body = { name: 'key', scopes: ['fly'] };
    return {
      request: { by: market, method: 'POST', path: '/api-keys', body },
      follow({ details }) {
        const [{ field }] = details.fields as [{ field: string }];
        expect(field).toMatch(/^scopes/);
        return { body: { ...body, scopes: ['read'] } };
      },
    };
  },
  async 'body_malformed fix_request'(world) {
    const { market } = await world.agent();
    return {
      request: { by: market, method: 'POST', path: '/api-keys', rawBody: '{"name":' },
      follow: () => ({ rawBody: '{"name":"key","scopes":["read"]}' }),
    };
  },
  'request_malformed fix_request': async ({ anyone }) => ({
    request: { by: anyone, method: 'GET', path: '/listings/%E0%A4%A' },
    follow: () => ({ path: '/listings' }),
  }),
  'route_not_found fix_request': async ({ anyone }) => ({
    request: { by: anyone, method: 'GET', path: '/listing' },
    follow({ recovery }) {
      const [operation] = recovery.did_you_mean as [string];
      expect(operation).toMatch(/^GET \/(api\/v1\/)?listings$/);
      return { path: '/listings' };
    },
  }),
  'method_not_allowed fix_request': async ({ anyone }) => ({
    request: { by: anyone, method: 'PUT', path: '/categories' },
    follow(_error, { headers }) {
      expect(headers.get('allow')).toContain('GET');
      return { method: 'GET' };
    },
  }),
  async 'body_too_large fix_request'(world) {
    const { market } = await world.agent();
    const body = { name: 'x'.repeat(3_000_000), scopes: ['read'] };
    return {
      request: { by: market, method: 'POST', path: '/api-keys', body },
      follow: () => ({ body: { ...body, name: 'short' } }),
    };
  },
  async 'json_required fix_request'(world) {
    const { market } = await world.agent();
    const request: Sent = {
      ...{ by: market, method: 'POST', path: '/api-keys', rawBody: '{"name":"key","scopes":["read"]}' },
      headers: { 'content-type': 'text/plain' },
    };
    return { request, follow: () => ({ headers: { 'content-type': 'application/json' } }) };
  },
  'headers_too_large fix_request': async ({ anyone }) => ({
    request: { by: anyone, method: 'GET', path: '/listings', headers: { 'x-long': 'x'.repeat(20_000) } },
    follow: () => ({ headers: { 'x-long': 'short' } }),
  }),

  'text_invalid fix_request': (world) => listing(world, free({ name: 'zero\u200bwidth' }), free()),
  'pricing_invalid fix_request': (world) => listing(world, free({ pricing_amount: 1 }), free({ pricing_amount: 0 })),
  'category_not_found fix_request': (world) => listing(world, free({ category_id: newId() }), free()),
  'schema_invalid fix_request': (world) =>
    listing(
      world,
      perCall({ input_schema: { type: 'nothing' } }),
      perCall({ input_schema: { type: 'object' }, example_input: {} }),
    ),
  async 'schema_checks_slow retry_after_delay'(world) {
    const seller = await world.agent();
    const shop = await world.open(seller, undefined, SLOW);
    const request: Sent = { by: seller.market, method: 'PATCH', path: `/listings/${shop.listing.id}` };
    // Each process has a budget of its own, which is soon there again.
    const body = async () => {
      const change = { body: { example_input: nested(28) } };
      await Promise.all(Array.from({ length: 32 }, () => seller.market.send('PATCH', request.path, change)));
      return change.body;
    };
    return { request: { ...request, body }, follow: () => ({ body: { example_input: { x: 2 } } }) };
  },
  'private_endpoint_required fix_request': (world) =>
    listing(world, { ...perCall(), private_endpoint_url: undefined }, perCall()),
  'private_endpoint_unexpected fix_request': (world) =>
    listing(world, free({ private_endpoint_url: 'https://1.1.1.1/call' }), free()),
  'endpoint_url_refused fix_request': (world) =>
    listing(world, perCall({ private_endpoint_url: world.harness.baseUrl }), perCall()),
  'auth_header_refused fix_request': (world) =>
    endpoint(
      world,
      { auth_header: { name: 'Host', value: 'elsewhere' } },
      { auth_header: { name: 'X-Seller-Key', value: 'secret' } },
    ),

  async 'listing_not_found choose_another_listing'(world) {
    const { shop } = await world.shop();
    return {
      request: { by: world.anyone, method: 'GET', path: '/listings/no-such-listing' },
      follow: () => ({ path: `/listings/${shop.listing.slug}` }),
    };
  },
  async 'listing_not_found do_not_retry'(world) {
    const [{ shop }, by] = [await world.shop(), await operator(world)];
    return {
      request: { by, method: 'GET', path: `/admin/listings/${newId()}` },
      instead: () => by.request('GET', `/admin/listings/${shop.listing.id}`),
    };
  },
  async 'endpoint_not_found choose_another_listing'(world) {
    const { seller, shop } = await world.shop();
    const feed = await listFeed(seller, freeFeed);
    return {
      request: { by: seller.market, method: 'GET', path: `/listings/${feed.id}/endpoint` },
      follow: () => ({ path: `/listings/${shop.listing.id}/endpoint` }),
    };
  },
  async 'not_owner do_not_retry'(world) {
    const [{ seller, shop }, other] = [await world.shop(), await world.agent()];
    const path = `/listings/${shop.listing.id}`;
    return {
      request: { by: other.market, method: 'PATCH', path, body: { tags: ['mine'] } },
      instead: () => seller.market.listings.update(shop.listing.id, { tags: ['mine'] }),
    };
  },
  async 'suspended_by_owner fix_request'(world) {
    const seller = await world.agent();
    const { id } = await listFeed(seller, freeFeed);
    await seller.market.listings.remove(id);
    return {
      request: { by: seller.market, method: 'PATCH', path: `/listings/${id}`, body: { status: 'active' } },
      // The message names the way: first a draft.
      follow: () => seller.market.listings.update(id, { status: 'draft' }).then(() => undefined),
    };
  },
  async 'listing_suspended contact_operator'(world) {
    const [seller, by] = [await world.agent(), await operator(world)];
    const { id } = await listFeed(seller, freeFeed);
    await by.request('POST', `/admin/listings/${id}/suspend`, { body: { reason: 'under review' } });
    return {
      request: { by: seller.market, method: 'PATCH', path: `/listings/${id}`, body: { tags: ['better'] } },
      follow: () => by.request('POST', `/admin/listings/${id}/release`, { body: {} }).then(() => undefined),
    };
  },
  async 'too_many_tests retry_after_delay'(world) {
    const seller = await world.agent();
    const { listing } = await world.open(seller);
    const path = `/listings/${listing.id}/endpoint/test`;
    for (let n = 0; n < 10; n += 1) expect((await seller.market.send('POST', path)).status).toBe(200);
    return {
      request: { by: seller.market, method: 'POST', path },
      // One more a few seconds later.
    };
  },
  async 'idempotency_key_reused use_new_idempotency_key'(world) {
    const { market } = await world.agent();
    const headers = { 'Idempotency-Key': 'one-key-for-two' };
    await market.send('POST', '/api-keys', { headers, body: { name: 'first', scopes: ['read'] } });
    const body = { name: 'second', scopes: ['read'] };
    return {
      request: { by: market, method: 'POST', path: '/api-keys', headers, body },
      check: (answer) => expect(bodyOf(answer)).toMatchObject({ data: { name: 'second' } }),
    };
  },
};
