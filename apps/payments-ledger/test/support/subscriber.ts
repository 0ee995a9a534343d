import type { InputOf, OutputOf } from '@market/contracts';
import type { Offering } from '@market/contracts/catalog';
import {
  cancelSubscription,
  createPayment,
  getPayment,
  getSubscription,
  listSubscriptions,
  paySandbox,
  subscribe,
  verifyPayment,
} from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import type { RequestContext } from '@market/messaging';
import { as, newListing, type LedgerHarness, type Outcome } from './ledger-harness.js';

type SubscribeOutcome = OutputOf<typeof subscribe>;
export type SubscriptionOffer = OutputOf<typeof createPayment>;
type VerifyOutcome = OutputOf<typeof verifyPayment>;
type VerifyInput = InputOf<typeof verifyPayment>;

/** One account, for which the edge sends the requests. */
export interface Subscriber {
  id: string;
  subscribe(
    listing: Offering,
    wish?: Partial<InputOf<typeof subscribe>>,
    context?: Partial<RequestContext>,
  ): Promise<SubscribeOutcome>;
  /** Returns the payment of a paid listing. */
  offerOf(listing: Offering, wish?: Partial<InputOf<typeof subscribe>>): Promise<SubscriptionOffer>;
  createPayment(listing: Offering, context?: Partial<RequestContext>): Promise<SubscriptionOffer>;
  payment(paymentId: string): Promise<OutputOf<typeof getPayment>>;
  pay(offer: SubscriptionOffer, outcome?: Outcome): Promise<OutputOf<typeof paySandbox>>;
  /** Verifies with the relay request id, except for `changes`. */
  verify(offer: SubscriptionOffer, changes?: Partial<VerifyInput>): Promise<VerifyOutcome>;
  /** Subscribes, pays and verifies. */
  buy(listing: Offering): Promise<Extract<VerifyOutcome, { outcome: 'completed' }>>;
  list(
    status?: InputOf<typeof listSubscriptions>['status'],
    page?: { page: number; limit: number },
  ): Promise<OutputOf<typeof listSubscriptions>>;
  get(subscriptionId: string): Promise<OutputOf<typeof getSubscription>>;
  cancel(subscriptionId: string): Promise<OutputOf<typeof cancelSubscription>>;
}

export function subscriberOf({ edge }: Pick<LedgerHarness, 'edge'>, id = newId()): Subscriber {
  const subscriber: Subscriber = {
    id,
    subscribe: ({ listingId }, wish, context) =>
      edge.request(subscribe, { listing_id: listingId, ...wish }, as(id, context)),
    async offerOf(listing, wish) {
      const outcome = await subscriber.subscribe(listing, wish);
      if (outcome.outcome !== 'payment_required')
        throw new Error(`expected a payment and got ${JSON.stringify(outcome)}`);
      return outcome.payment;
    },
    createPayment: ({ listingId }, context) => edge.request(createPayment, { listing_id: listingId }, as(id, context)),
    payment: (payment_id) => edge.request(getPayment, { payment_id }, as(id)),
    pay: ({ requirements: { relayRequestId } }, outcome = 'paid') =>
      edge.request(paySandbox, { relay_request_id: relayRequestId, outcome }, as(id)),
    verify: (
      { payment_id: paymentId, requirements: { relayRequestId } },
      changes = { relay_request_id: relayRequestId },
    ) => edge.request(verifyPayment, { payment_id: paymentId, ...changes }, as(id)),
    async buy(listing) {
      const offer = await subscriber.offerOf(listing);
      await subscriber.pay(offer);
      const verified = await subscriber.verify(offer);
      if (verified.outcome !== 'completed')
        throw new Error(`expected a subscription and got ${JSON.stringify(verified)}`);
      return verified;
    },
    list: (status = 'active', page = { page: 1, limit: 100 }) =>
      edge.request(listSubscriptions, { status, ...page }, as(id)),
    get: (subscription_id) => edge.request(getSubscription, { subscription_id }, as(id)),
    cancel: (subscription_id) => edge.request(cancelSubscription, { subscription_id }, as(id)),
  };
  return subscriber;
}

/** Adds a listing to the catalog's offerings. */
export function offered({ catalog }: Pick<LedgerHarness, 'catalog'>, changes: Partial<Offering> = {}): Offering {
  const listing = newListing(changes);
  catalog.offer(listing);
  return listing;
}

export const freeListing: Partial<Offering> = { pricingModel: 'free', priceMicros: '0' };
