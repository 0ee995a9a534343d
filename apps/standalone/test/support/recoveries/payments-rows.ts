import { newId } from '@market/kernel';
import { evmWallet, sandboxPayer, type CreateReview, type SubscriptionOffer } from '@market/sdk';
import { OPERATOR, withClient } from '@market/testing';
import { bodyOf, quote, withRelayId } from '../buyer.js';
import { signIn } from '../fuzz/fixtures.js';
import type { Agent } from '../harness.js';
import { freeFeed, letTimePass, listFeed, offerOf, paidOffer, subscribeOnce } from '../subscriber.js';
import type { Rows, Sent, Walk, World } from './walk.js';

const GOOD: CreateReview = { accuracy_rating: 5, reliability_rating: 4, value_rating: 3 };

const verify = (by: Agent, { payment_id, requirements }: SubscriptionOffer, proof?: object): Sent => ({
  ...{ by: by.market, method: 'POST', path: '/payments/verify' },
  body: { payment_id, ...(proof ?? { relay_request_id: requirements.relayRequestId }) },
});
const subscribeTo = (by: Agent, listing: { id: string }): Sent => ({
  ...{ by: by.market, method: 'POST', path: '/subscribe', body: { listing_id: listing.id } },
});
const review = (by: Agent, listing: { id: string }, body: object = GOOD): Sent => ({
  ...{ by: by.market, method: 'POST', path: `/reviews/${listing.id}`, body },
});
const buy = ({ market }: Agent, listing: { id: string }) =>
  market.call(listing, { n: 1 }, { pay: sandboxPayer(market) });
/** A seller with a monthly listing, and a reader. */
const feedAndReader = async (world: World) => {
  const [seller, reader] = [await world.agent(), await world.agent()];
  return { seller, reader, feed: await listFeed(seller) };
};

/** A payment that came to nothing: the same subscription is asked for again, paid and verified. */
async function anew(world: World, outcome: 'failed' | 'late' | 'none'): Promise<Walk> {
  const { reader, feed } = await feedAndReader(world);
  const offer = outcome === 'none' ? await offerOf(reader, feed) : await paidOffer(reader, feed, outcome);
  if (outcome === 'none') await letTimePass(world.harness, { offer: offer.payment_id });
  return {
    request: verify(reader, offer),
    async follow() {
      const next = await paidOffer(reader, feed);
      expect(next.payment_id).not.toBe(offer.payment_id);
      return { body: verify(reader, next).body };
    },
  };
}

/** The verification of a payment of somebody else's, or of nobody's, is replaced by one of an own payment. */
export const paymentsRows: Rows = {
  'payment_failed request_new_payment_requirements': (world) => anew(world, 'failed'),
  'payment_expired request_new_payment_requirements': (world) => anew(world, 'none'),
  async 'payment_cancelled request_new_payment_requirements'(world) {
    const { reader, feed } = await feedAndReader(world);
    const offer = await offerOf(reader, feed);
    await reader.market.sandbox.pay(offer.requirements.relayRequestId, { outcome: 'failed' });
    // As when what was signed for it could not be settled in its time.
    await withClient(world.harness.databaseUrl, (client) =>
      client.query("UPDATE payments_ledger.payments SET state = 'cancelled' WHERE id = $1", [offer.payment_id]),
    );
    return {
      request: verify(reader, offer),
      follow: async () => ({ body: verify(reader, await paidOffer(reader, feed)).body }),
    };
  },
  'payment_refund_due request_new_payment_requirements': (world) => anew(world, 'late'),
  async 'payment_unpaid pay_and_retry'(world) {
    const { reader, feed } = await feedAndReader(world);
    const offer = await offerOf(reader, feed);
    return {
      request: verify(reader, offer),
      follow: () => reader.market.sandbox.pay(offer.requirements.relayRequestId).then(() => undefined),
    };
  },
  async 'payment_underpaid pay_and_retry'(world) {
    const { reader, feed } = await feedAndReader(world);
    const offer = await paidOffer(reader, feed, 'underpaid');
    return {
      request: verify(reader, offer),
      follow: () => reader.market.sandbox.pay(offer.requirements.relayRequestId).then(() => undefined),
    };
  },
  async 'payment_mismatch fix_request'(world) {
    const { reader, feed } = await feedAndReader(world);
    const offer = await paidOffer(reader, feed);
    return {
      request: verify(reader, offer, { relay_request_id: `0x${'1'.repeat(64)}` }),
      follow: () => ({ body: verify(reader, offer).body }),
    };
  },
  async 'payment_of_call use_direct_gateway'(world) {
    const [{ shop }, buyer] = [await world.shop(), await world.agent()];
    const offer = await quote(buyer, shop.listing, { n: 1 });
    await buyer.market.sandbox.pay(offer.relay_request_id);
    const body = { payment_id: offer.payment_id, relay_request_id: offer.relay_request_id };
    return {
      request: { by: buyer.market, method: 'POST', path: '/payments/verify', body },
      follow: ({ details }) => ({
        path: `/gateway/${shop.listing.id}`,
        body: { n: 1 },
        headers: withRelayId(details.relay_request_id as string),
      }),
    };
  },
  async 'payment_rejected pay_and_retry'(world) {
    const { reader, feed } = await feedAndReader(world);
    const offer = await offerOf(reader, feed);
    const [accepted] = offer.x402!.accepts as Record<string, unknown>[];
    const payload = { x402Version: 2, accepted, payload: { signature: `0x${'1'.repeat(130)}`, authorization: {} } };
    return {
      request: verify(reader, offer, { payload }),
      async follow() {
        const { ExactEvmScheme } = await import('@x402/evm/exact/client');
        const { generatePrivateKey, privateKeyToAccount } = await import('viem/accounts');
        const signed = await new ExactEvmScheme(privateKeyToAccount(generatePrivateKey())).createPaymentPayload(
          2,
          accepted as never,
        );
        return { body: verify(reader, offer, { payload: { ...signed, x402Version: 2, accepted } }).body };
      },
    };
  },
  async 'payment_not_found do_not_retry'(world) {
    const { token } = await signIn(world.harness, evmWallet(OPERATOR.key));
    const { reader, feed } = await feedAndReader(world);
    const by = world.anyone.authorizedBy(`Bearer ${token}`);
    const { payment_id } = await offerOf(reader, feed);
    return {
      request: { by, method: 'GET', path: `/admin/payments/${newId()}` },
      instead: () => by.request('GET', `/admin/payments/${payment_id}`),
    };
  },
  async 'offer_not_payable request_new_payment_requirements'(world) {
    const [{ shop }, buyer] = [await world.shop(), await world.agent()];
    const offer = await quote(buyer, shop.listing, { n: 1 });
    await buyer.market.sandbox.pay(offer.relay_request_id, { outcome: 'failed' });
    const path = `/sandbox/payments/${offer.relay_request_id}/pay`;
    return {
      request: { by: buyer.market, method: 'POST', path, body: {} },
      async follow() {
        const next = await quote(buyer, shop.listing, { n: 1 });
        return { path: `/sandbox/payments/${next.relay_request_id}/pay` };
      },
    };
  },
  async 'listing_free fix_request'(world) {
    const [{ seller }, { market }] = [await world.shop(), await world.agent()];
    const feed = await listFeed(seller, freeFeed);
    return {
      request: { by: market, method: 'POST', path: '/payments', body: { listing_id: feed.id } },
      follow: () => ({ path: '/subscribe' }),
    };
  },
  async 'listing_per_call use_direct_gateway'(world) {
    const [{ shop }, reader] = [await world.shop(), await world.agent()];
    return {
      request: subscribeTo(reader, shop.listing),
      follow: () => ({ path: `/gateway/${shop.listing.id}`, body: { n: 1 } }),
    };
  },
  async 'own_listing choose_another_listing'(world) {
    const [{ seller }, other] = [await world.shop(), await world.agent()];
    const theirs = await listFeed(other, freeFeed);
    return {
      request: subscribeTo(seller, await listFeed(seller, freeFeed)),
      follow: () => ({ body: { listing_id: theirs.id } }),
    };
  },
  async 'already_subscribed do_not_retry'(world) {
    const [{ seller }, reader] = [await world.shop(), await world.agent()];
    const feed = await listFeed(seller, freeFeed);
    await reader.market.subscribe(feed);
    return { request: subscribeTo(reader, feed), instead: () => reader.market.subscriptions.list() };
  },
  async 'not_subscriber do_not_retry'(world) {
    const [{ seller }, reader] = [await world.shop(), await world.agent()];
    const answer = await subscribeOnce(reader, { listing_id: (await listFeed(seller, freeFeed)).id });
    const { id } = bodyOf(answer).data as { id: string };
    return {
      request: { by: seller.market, method: 'DELETE', path: `/subscriptions/${id}` },
      instead: () => reader.market.request('DELETE', `/subscriptions/${id}`),
    };
  },
  async 'subscription_expired do_not_retry'(world) {
    const { reader, feed } = await feedAndReader(world);
    const offer = await paidOffer(reader, feed);
    await reader.market.send('POST', '/payments/verify', { body: verify(reader, offer).body });
    const [subscription] = (await reader.market.subscriptions.list()).data;
    await letTimePass(world.harness, { period: subscription!.id });
    return {
      request: { by: reader.market, method: 'DELETE', path: `/subscriptions/${subscription!.id}` },
      instead: () => offerOf(reader, feed),
    };
  },
  async 'subscription_not_found do_not_retry'(world) {
    const { market } = await world.agent();
    return {
      request: { by: market, method: 'GET', path: `/subscriptions/${newId()}` },
      instead: () => market.subscriptions.list(),
    };
  },
  async 'receipt_not_found do_not_retry'(world) {
    const { market } = await world.agent();
    return {
      request: { by: market, method: 'GET', path: `/receipts/${newId()}` },
      instead: () => market.receipts.list(),
    };
  },
  async 'gateway_request_not_found do_not_retry'(world) {
    const { market } = await world.agent();
    return {
      request: { by: market, method: 'GET', path: `/gateway-requests/${newId()}` },
      instead: () => market.gatewayRequests.list(),
    };
  },
  async 'content_not_found do_not_retry'(world) {
    const { market } = await world.agent();
    return {
      request: { by: market, method: 'GET', path: `/gateway-requests/${newId()}/content` },
      instead: () => market.gatewayRequests.list(),
    };
  },
  async 'refund_not_found do_not_retry'(world) {
    const { market } = await world.agent();
    const body = { transaction: `0x${'1'.repeat(64)}` };
    return {
      request: { by: market, method: 'POST', path: `/refunds/${newId()}/confirm`, body },
      instead: () => market.refunds.list(),
    };
  },
  async 'no_fees_due do_not_retry'(world) {
    const { market } = await world.agent();
    return {
      request: { by: market, method: 'POST', path: '/fees/payments', body: {} },
      instead: () => market.balance(),
    };
  },
  async 'statement_not_found fix_request'(world) {
    const { market } = await world.agent();
    return {
      request: { by: market, method: 'GET', path: '/statements/2026-13' },
      follow: () => ({ path: '/statements/2026-11' }),
    };
  },
  'relay_not_configured do_not_retry': async ({ anyone }) => ({
    request: { by: anyone, method: 'POST', path: '/webhooks/relay', body: {} },
    instead: () => anyone.request('GET', '/payment-routes'),
  }),

  async 'purchase_required use_direct_gateway'(world) {
    const [{ shop }, reviewer] = [await world.shop(), await world.agent()];
    return {
      request: review(reviewer, shop.listing),
      follow: () => buy(reviewer, shop.listing).then(() => undefined),
    };
  },
  async 'review_window_closed use_direct_gateway'(world) {
    const [{ shop }, reviewer] = [await world.shop(), await world.agent()];
    await buy(reviewer, shop.listing);
    await withClient(world.harness.databaseUrl, (client) =>
      client.query(
        "UPDATE payments_ledger.payments SET completed_at = now() - interval '31 days' WHERE buyer_id = $1",
        [reviewer.id],
      ),
    );
    return {
      request: review(reviewer, shop.listing),
      // Another call: the same one is answered from what was bought before.
      follow: () =>
        reviewer.market.call(shop.listing, { n: 2 }, { pay: sandboxPayer(reviewer.market) }).then(() => undefined),
    };
  },
  async 'already_reviewed do_not_retry'(world) {
    const [{ shop }, reviewer] = [await world.shop(), await world.agent()];
    await buy(reviewer, shop.listing);
    await reviewer.market.reviews.create(shop.listing, GOOD);
    return { request: review(reviewer, shop.listing), instead: () => world.anyone.reviews.list(shop.listing) };
  },
  async 'free_calls_not_reviewed do_not_retry'(world) {
    const [seller, reviewer] = [await world.agent(), await world.agent()];
    const gift = await world.open(seller, undefined, { pricing_amount: 0 });
    return {
      request: review(reviewer, gift.listing),
      instead: () => reviewer.market.request('POST', `/gateway/${gift.listing.id}`, { body: { n: 1 } }),
    };
  },
  async 'related_to_seller do_not_retry'(world) {
    const [{ market: human }, seller, reviewer] = [await world.human(), await world.agent(), await world.agent()];
    const shop = await world.open(seller);
    await buy(reviewer, shop.listing);
    await human.claim(seller.id, seller.wallet);
    await human.claim(reviewer.id, reviewer.wallet);
    return {
      request: review(reviewer, shop.listing),
      instead: async () => {
        const other = await world.agent();
        await buy(other, shop.listing);
        return other.market.reviews.create(shop.listing, GOOD);
      },
    };
  },
};

/** Further ways to the same reasons. */
export const furtherPaymentsRows: Rows = {
  async 'payment_not_found request_new_payment_requirements'(world) {
    const { reader, feed } = await feedAndReader(world);
    const offer = await paidOffer(reader, feed);
    return {
      request: verify(reader, { ...offer, payment_id: newId() }),
      follow: async () => ({ body: verify(reader, await offerOf(reader, feed)).body }),
    };
  },
  async 'listing_unavailable retry_after_delay'(world) {
    const { seller, reader, feed } = await feedAndReader(world);
    const offer = await paidOffer(reader, feed);
    await seller.market.listings.remove(feed);
    return {
      request: verify(reader, offer),
      async follow() {
        for (const status of ['draft', 'active'] as const) await seller.market.listings.update(feed.id, { status });
      },
    };
  },
  async 'already_subscribed do_not_retry'(world) {
    const { reader, feed } = await feedAndReader(world);
    const [first, second] = [await offerOf(reader, feed), await offerOf(reader, feed, { origin_currency: 'ETH' })];
    for (const { requirements } of [first, second]) await reader.market.sandbox.pay(requirements.relayRequestId);
    await reader.market.send('POST', '/payments/verify', { body: verify(reader, first).body });
    return {
      request: verify(reader, second),
      then: 'payment_refund_due request_new_payment_requirements',
      // The money is owed back, as its message says.
      instead: async () =>
        expect((await reader.market.ledger.list({ type: 'adjustment' })).data).toMatchObject([{ amount_cents: 999 }]),
    };
  },
  async 'text_invalid fix_request'(world) {
    const [{ shop }, reviewer] = [await world.shop(), await world.agent()];
    await buy(reviewer, shop.listing);
    return {
      request: review(reviewer, shop.listing, { ...GOOD, title: 'zero\u200bwidth' }),
      follow: () => ({ body: GOOD }),
    };
  },
  async 'budget_exceeded change_budget'(world) {
    const [{ shop }, agent] = [await world.shop(), await world.agent()];
    const relayRequestId = (await quote(agent, shop.listing, { n: 1 })).relay_request_id;
    await agent.market.request('PATCH', '/me/budget', { body: { budget: { per_call_usd: 0.1 } } });
    return {
      request: { by: agent.market, method: 'POST', path: `/sandbox/payments/${relayRequestId}/pay`, body: {} },
      async follow() {
        await agent.market.request('PATCH', '/me/budget', { body: { budget: null } });
      },
    };
  },
};
