import { evmWallet, type Offer } from '@market/sdk';
import { reply } from '@market/sdk/seller';
import { newId } from '@market/kernel';
import { eventually, OPERATOR, withClient } from '@market/testing';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { x402Client, x402HTTPClient } from '@x402/fetch';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { Hex } from 'viem';
import { bodyOf, callOnce, payFor, resultOf, withRelayId } from '../buyer.js';
import { signIn } from '../fuzz/fixtures.js';
import type { Agent } from '../harness.js';
import { listFeed, paidOffer } from '../subscriber.js';
import type { Shop } from '../seller.js';
import { nested, SLOW } from './slow-schema.js';
import type { Rows, Sent, World } from './walk.js';

export const BODY = { ask: 'the price of tea' };
const SCHEMA = { input_schema: { type: 'object', required: ['city'] }, example_input: { city: 'Bern' } };

export const call = ({ market }: Agent, { listing }: Pick<Shop, 'listing'>, more: Partial<Sent> = {}): Sent => ({
  ...{ by: market, method: 'POST', path: `/gateway/${listing.id}`, body: BODY },
  ...more,
});
export const paidFor = async (buyer: Agent, { listing }: Pick<Shop, 'listing'>, body: unknown = BODY) =>
  withRelayId(await payFor(buyer, listing, body));
export const isBillable = (answer: Parameters<typeof resultOf>[0]): void =>
  expect(resultOf(answer)).toMatchObject({ billable: true });
const offerIn = (answer: Parameters<typeof bodyOf>[0]): Offer => (bodyOf(answer).data as { payment: Offer }).payment;
const operator = async ({ harness, anyone }: World) =>
  anyone.authorizedBy(`Bearer ${(await signIn(harness, evmWallet(OPERATOR.key))).token}`);

/** A keyless call with what an unmodified client signs for the listing. */
export async function signedCall(
  world: World,
  { listing }: Pick<Shop, 'listing'>,
  key: Hex = generatePrivateKey(),
): Promise<Sent> {
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(key)));
  const path = `/x402/${listing.slug}`;
  const asked = await world.anyone.send('POST', path, { body: {} });
  const required = new x402HTTPClient(client).getPaymentRequiredResponse((name) => asked.headers.get(name), asked.json);
  const payload = await client.createPaymentPayload(required);
  const headers = { 'payment-signature': Buffer.from(JSON.stringify(payload)).toString('base64') };
  return { by: world.anyone, method: 'POST', path, body: BODY, headers };
}

const PLAN = { pricing_model: 'monthly', pricing_amount: 9.99, included_calls: 1 } as const;
/** Pays a period of the listing that a refusal names. */
async function beginPeriod(buyer: Agent, { listing_id: id }: Record<string, unknown>): Promise<void> {
  const { payment_id, requirements } = await paidOffer(buyer, { id: id as string });
  await buyer.market.payments.verify({ payment_id, relay_request_id: requirements.relayRequestId });
}

/** Opens a shop that answers a body with `wait` only when it is told what. */
async function openWaiting(world: World, seller: Agent, listing: Parameters<World['open']>[2] = {}) {
  let resolve: (body: object) => void = () => undefined;
  const shop = await world.open(
    seller,
    ({ body }) => ('wait' in (body as object) ? new Promise((resolved) => (resolve = resolved)) : { echo: body }),
    listing,
  );
  return { shop, answer: (body: object) => resolve(body) };
}

export const callsRows: Rows = {
  async 'subscription_required subscribe'(world) {
    const [seller, buyer] = [await world.agent(), await world.agent()];
    const plan = await world.open(seller, undefined, PLAN);
    return { request: call(buyer, plan), follow: ({ details }) => beginPeriod(buyer, details), check: isBillable };
  },
  async 'quota_used_up subscribe'(world) {
    const [seller, buyer] = [await world.agent(), await world.agent()];
    const plan = await world.open(seller, undefined, PLAN);
    await beginPeriod(buyer, { listing_id: plan.listing.id });
    await callOnce(buyer, plan.listing, { first: true });
    return { request: call(buyer, plan), follow: ({ details }) => beginPeriod(buyer, details), check: isBillable };
  },
  async 'quota_in_use retry_after_delay'(world) {
    const [seller, buyer] = [await world.agent(), await world.agent()];
    const { shop: plan, answer } = await openWaiting(world, seller, PLAN);
    await beginPeriod(buyer, { listing_id: plan.listing.id });
    const waiting = callOnce(buyer, plan.listing, { wait: true });
    await eventually(() => expect(plan.requests).toHaveLength(1));
    return {
      request: call(buyer, plan),
      async follow() {
        answer(reply(500, {}));
        expect(resultOf(await waiting)).toMatchObject({ billable: false });
      },
      check: isBillable,
    };
  },
  async 'PAYMENT_REQUIRED pay_and_retry'(world) {
    const [{ shop }, buyer] = [await world.shop(), await world.agent()];
    return {
      request: call(buyer, shop),
      async follow(_error, answer) {
        const offer = offerIn(answer);
        await buyer.market.sandbox.pay(offer.relay_request_id);
        return { headers: offer.retry_headers as Record<string, string> };
      },
      check: isBillable,
    };
  },
  async 'PAYMENT_ROUTE_MINIMUM_NOT_MET retry_with_solana_payment_route'(world) {
    const [seller, buyer] = [await world.agent(), await world.agent()];
    const cheap = await world.open(seller, undefined, { pricing_amount: 0.02 });
    return {
      request: call(buyer, cheap, { headers: { 'X-Market-Origin-Currency': 'USDC' } }),
      follow: ({ details }) => ({ headers: details.recommended_gateway_headers as Record<string, string> }),
    };
  },
  async 'setup_retired use_direct_gateway'(world) {
    const [{ shop }, { market }] = [await world.shop(), await world.agent()];
    return {
      request: { by: market, method: 'POST', path: '/payments/setup', body: {} },
      follow: ({ details }) => ({
        path: (details.replacement as string).replace('POST ', '').replace('{listingId}', shop.listing.id),
      }),
    };
  },
  async 'call_loops choose_another_listing'(world) {
    const [{ shop }, buyer] = [await world.shop(), await world.agent()];
    const hops = ['a', 'b', 'c', 'd', 'e', 'f'].map((digit) => digit.repeat(16)).join(', ');
    return {
      request: call(buyer, shop, { headers: { 'X-Market-Hop': hops } }),
      // The other listing is not called through the marketplaces that led here.
      follow: () => ({ headers: { 'X-Market-Hop': '' } }),
    };
  },
  async 'listing_not_per_call choose_another_listing'(world) {
    const [{ seller, shop }, buyer] = [await world.shop(), await world.agent()];
    return {
      request: call(buyer, { listing: await listFeed(seller) }),
      follow: () => ({ path: `/gateway/${shop.listing.id}` }),
    };
  },
  async 'own_listing do_not_retry'(world) {
    const { seller, shop } = await world.shop();
    return { request: call(seller, shop), instead: () => seller.market.endpoint.test(shop.listing) };
  },
  async 'endpoint_unavailable choose_another_listing'(world) {
    const [{ shop }, seller, buyer] = [await world.shop(), await world.agent(), await world.agent()];
    const paused = await world.open(seller);
    await seller.market.endpoint.update(paused.listing, { status: 'paused' });
    return { request: call(buyer, paused), follow: () => ({ path: `/gateway/${shop.listing.id}` }) };
  },
  async 'budget_exceeded change_budget'(world) {
    const [{ shop }, agent] = [await world.shop(), await world.agent()];
    await agent.market.request('PATCH', '/me/budget', { body: { budget: { per_call_usd: 0.1 } } });
    return {
      request: call(agent, shop),
      async follow({ details }) {
        const budget = { per_call_usd: details.price_usd };
        await agent.market.request('PATCH', '/me/budget', { body: { budget } });
      },
    };
  },

  async 'request_body_invalid fix_request'(world) {
    const [{ shop }, buyer] = [await world.shop(), await world.agent()];
    return { request: call(buyer, shop, { body: [] }), follow: () => ({ body: BODY }) };
  },
  async 'request_body_misfit fix_request'(world) {
    const [seller, buyer] = [await world.agent(), await world.agent()];
    const shop = await world.open(seller, undefined, SCHEMA);
    return { request: call(buyer, shop), follow: () => ({ body: SCHEMA.example_input }) };
  },
  async 'request_body_uncheckable fix_request'(world) {
    const [seller, buyer] = [await world.agent(), await world.agent()];
    const shop = await world.open(seller, undefined, SLOW);
    return { request: call(buyer, shop, { body: nested(50) }), follow: () => ({ body: { x: 1 } }) };
  },
  async 'input_schema_slow retry_after_delay'(world) {
    const [seller, buyer] = [await world.agent(), await world.agent()];
    const shop = await world.open(seller, undefined, SLOW);
    // Each process has a budget of its own, which is soon there again.
    const body = async () => {
      await Promise.all(Array.from({ length: 16 }, () => callOnce(buyer, shop.listing, nested(50))));
      return { x: 1 };
    };
    return { request: call(buyer, shop, { body }), follow: () => ({ body: { x: 1 } }) };
  },
  async 'request_body_too_large fix_request'(world) {
    const [seller, buyer] = [await world.agent(), await world.agent()];
    const shop = await world.open(seller);
    await seller.market.endpoint.update(shop.listing, { limits: { max_request_bytes: 1_024 } });
    return {
      request: call(buyer, shop, { body: { text: 'x'.repeat(2_000) } }),
      follow: ({ details }) => ({ body: { text: 'x'.repeat((details.max_request_bytes as number) / 2) } }),
    };
  },

  async 'format_not_taken fix_request'(world) {
    const [{ shop }, buyer] = [await world.shop(), await world.agent()];
    return {
      request: call(buyer, shop, { headers: { 'content-type': 'text/csv' } }),
      follow: () => ({ headers: { 'content-type': 'application/json' } }),
    };
  },

  async 'payment_not_found request_new_payment_requirements'(world) {
    const [{ shop }, buyer] = [await world.shop(), await world.agent()];
    return { request: call(buyer, shop, { headers: withRelayId(`0x${'1'.repeat(64)}`) }) };
  },
  async 'listing_mismatch fix_request'(world) {
    const [{ shop }, seller, buyer] = [await world.shop(), await world.agent(), await world.agent()];
    const other = await world.open(seller);
    const headers = await paidFor(buyer, shop);
    return {
      request: call(buyer, other, { headers }),
      follow: () => ({ path: `/gateway/${shop.listing.id}` }),
      check: isBillable,
    };
  },
  async 'request_body_mismatch fix_request'(world) {
    const [{ shop }, buyer] = [await world.shop(), await world.agent()];
    const headers = await paidFor(buyer, shop);
    return {
      request: call(buyer, shop, { headers, body: { ask: 'something else' } }),
      follow: () => ({ body: BODY }),
      check: isBillable,
    };
  },
  async 'payment_route_mismatch fix_request'(world) {
    const [{ shop }, buyer] = [await world.shop(), await world.agent()];
    const headers = { ...(await paidFor(buyer, shop)), 'X-Market-Payment-Network': 'eip155:1' };
    return {
      request: call(buyer, shop, { headers }),
      follow: ({ details }) => ({ headers: { 'X-Market-Payment-Network': details.network as string } }),
      check: isBillable,
    };
  },
  async 'payment_route_unavailable choose_another_payment_route'(world) {
    const [{ shop }, buyer] = [await world.shop(), await world.agent()];
    return { request: call(buyer, shop, { headers: { 'X-Market-Origin-Chain-Id': 'eip155:999999' } }) };
  },
  async 'wallet_not_found link_wallet'(world) {
    const [{ shop }, buyer] = [await world.shop(), await world.agent()];
    return {
      request: call(buyer, shop, { headers: { 'X-Market-Origin-Wallet-Id': newId() } }),
      async follow() {
        const { id } = await buyer.market.wallets.link(buyer.wallet, evmWallet(), { capabilities: ['payer'] });
        return { headers: { 'X-Market-Origin-Wallet-Id': id } };
      },
    };
  },
  async 'wallet_chain_mismatch choose_another_payment_route'(world) {
    const [{ shop }, buyer] = [await world.shop(), await world.agent()];
    const [wallet] = await buyer.market.wallets.list();
    const headers = { 'X-Market-Origin-Wallet-Id': wallet!.id, 'X-Market-Origin-Currency': 'SOL' };
    return { request: call(buyer, shop, { headers }) };
  },

  async 'listing_unavailable retry_after_delay'(world) {
    const [seller, buyer, by] = [await world.agent(), await world.agent(), await operator(world)];
    const shop = await world.open(seller);
    const headers = await paidFor(buyer, shop);
    await by.request('POST', `/admin/listings/${shop.listing.id}/suspend`, { body: { reason: 'under review' } });
    return {
      request: call(buyer, shop, { headers }),
      follow: () =>
        by.request('POST', `/admin/listings/${shop.listing.id}/release`, { body: {} }).then(() => undefined),
      check: isBillable,
    };
  },
  async 'delivery_postponed retry_after_delay'(world) {
    const [seller, buyer] = [await world.agent(), await world.agent()];
    const shop = await world.open(seller);
    const headers = await paidFor(buyer, shop);
    await seller.market.endpoint.update(shop.listing, { status: 'paused' });
    return {
      request: call(buyer, shop, { headers }),
      follow: () => seller.market.endpoint.update(shop.listing, { status: 'active' }).then(() => undefined),
      check: isBillable,
    };
  },
  async 'listing_busy retry_after_delay'(world) {
    const [seller, buyer] = [await world.agent(), await world.agent()];
    const { shop, answer } = await openWaiting(world, seller);
    await seller.market.endpoint.update(shop.listing, { limits: { max_concurrency: 1 } });
    const first = await paidFor(buyer, shop, { wait: true });
    const headers = await paidFor(buyer, shop);
    const waiting = callOnce(buyer, shop.listing, { wait: true }, first);
    await eventually(() => expect(shop.requests.map(({ body }) => body)).toContainEqual({ wait: true }));
    return {
      request: call(buyer, shop, { headers }),
      async follow() {
        answer({ late: true });
        isBillable(await waiting);
      },
      check: isBillable,
    };
  },
  async 'result_not_kept request_new_payment_requirements'(world) {
    const [{ shop }, buyer] = [await world.shop(), await world.agent()];
    const headers = await paidFor(buyer, shop);
    isBillable(await callOnce(buyer, shop.listing, BODY, headers));
    await withClient(world.harness.databaseUrl, (client) =>
      client.query('UPDATE gateway.gateway_requests SET result_json = NULL WHERE relay_request_id = $1', [
        headers['X-Market-Relay-Request-Id'],
      ]),
    );
    return { request: call(buyer, shop, { headers }) };
  },

  async 'listing_is_free register'(world) {
    const seller = await world.agent();
    const gift = await world.open(seller, undefined, { pricing_amount: 0 });
    const by = world.anyone;
    return {
      request: { by, method: 'POST', path: `/x402/${gift.listing.slug}`, body: BODY },
      follow: async () => ({ by: (await world.agent()).market, path: `/gateway/${gift.listing.id}` }),
    };
  },
  async 'wallet_cannot_pay link_wallet'(world) {
    const [{ shop }, owner, key] = [await world.shop(), await world.agent(), generatePrivateKey()];
    const linked = await owner.market.wallets.link(owner.wallet, evmWallet(key));
    await owner.market.wallets.update(linked, owner.wallet, { status: 'disabled' });
    const request = await signedCall(world, shop, key);
    return {
      request,
      async follow() {
        const other = generatePrivateKey();
        await owner.market.wallets.link(owner.wallet, evmWallet(other));
        return { headers: (await signedCall(world, shop, other)).headers };
      },
      check: isBillable,
    };
  },
};

/** The same reasons of keyless calls, which keep their signature. */
export const keylessRows: Rows = {
  async 'listing_mismatch fix_request'(world) {
    const [{ shop }, seller] = [await world.shop(), await world.agent()];
    const other = await world.open(seller);
    const { path, ...signed } = await signedCall(world, shop);
    await world.anyone.send('POST', path, { body: BODY, headers: signed.headers });
    return {
      request: { ...signed, path: `/x402/${other.listing.slug}` },
      follow: () => ({ path }),
      check: isBillable,
    };
  },
  async 'request_body_mismatch fix_request'(world) {
    const { shop } = await world.shop();
    const signed = await signedCall(world, shop);
    await world.anyone.send('POST', signed.path, { body: BODY, headers: signed.headers });
    return {
      request: { ...signed, body: { ask: 'something else' } },
      follow: () => ({ body: BODY }),
      check: isBillable,
    };
  },
  async 'wallet_is_a_humans fix_request'(world) {
    const [{ shop }, key] = [await world.shop(), generatePrivateKey()];
    await signIn(world.harness, evmWallet(key));
    return {
      request: await signedCall(world, shop, key),
      follow: async () => ({ headers: (await signedCall(world, shop)).headers }),
      check: isBillable,
    };
  },
  async 'delivery_postponed retry_after_delay'(world) {
    const seller = await world.agent();
    let works = false;
    const shop = await world.open(seller, ({ body }) => (works ? { echo: body } : reply(500, {})));
    const signed = await signedCall(world, shop);
    await world.anyone.send('POST', signed.path, { body: BODY, headers: signed.headers });
    await seller.market.endpoint.update(shop.listing, { status: 'paused' });
    works = true;
    return {
      request: signed,
      follow: () => seller.market.endpoint.update(shop.listing, { status: 'active' }).then(() => undefined),
      check: isBillable,
    };
  },
  async 'listing_unavailable retry_after_delay'(world) {
    const [seller, by] = [await world.agent(), await operator(world)];
    let works = false;
    const shop = await world.open(seller, ({ body }) => (works ? { echo: body } : reply(500, {})));
    const signed = await signedCall(world, shop);
    await world.anyone.send('POST', signed.path, { body: BODY, headers: signed.headers });
    await by.request('POST', `/admin/listings/${shop.listing.id}/suspend`, { body: { reason: 'under review' } });
    works = true;
    return {
      request: signed,
      follow: () =>
        by.request('POST', `/admin/listings/${shop.listing.id}/release`, { body: {} }).then(() => undefined),
      check: isBillable,
    };
  },
  async 'result_not_kept request_new_payment_requirements'(world) {
    const { shop } = await world.shop();
    const signed = await signedCall(world, shop);
    const bought = await world.anyone.send('POST', signed.path, { body: BODY, headers: signed.headers });
    const { request_id: id } = resultOf(bought);
    await withClient(world.harness.databaseUrl, (client) =>
      client.query('UPDATE gateway.gateway_requests SET result_json = NULL WHERE id = $1', [id]),
    );
    return { request: signed };
  },
};
