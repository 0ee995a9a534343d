import { checkOffer, refused } from './check-offer.js';
import type { Clock } from './clock.js';
import { MarketplaceError } from './errors.js';
import { errorOf, idempotency, idOf, listedPriceOf, rawIdOf } from './http.js';
import type { Cancellable, HttpClient, Identified, PricedListing } from './http.js';
import { payOnce, type Payer, type PaymentStore } from './payer.js';
import { retry, type RetryLimits } from './retry.js';
import type * as Api from './types.js';

export interface SubscribeOptions extends Cancellable {
  /** Without it a 402 is thrown, its offer in `error.payment`. */
  pay?: Payer | readonly Payer[];
  /** USD, as a decimal; a dearer offer is refused with `PRICE_ABOVE_LIMIT` and not paid. None by default. */
  maxPriceUsd?: string | number;
  originCurrency?: Api.PaymentCurrency;
  idempotencyKey?: string;
  /** The whole of it with all its waiting, for an outage as for the payment to be final; five minutes by default. */
  timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 300_000;

/** One logical subscription: asked for, paid at most once, and verified until the payment is final. */
export async function subscribe(
  { http, clock, store }: { http: HttpClient; clock: Clock; store: PaymentStore },
  listing: PricedListing,
  options: SubscribeOptions,
): Promise<Api.Subscription> {
  const { originCurrency, signal, pay, maxPriceUsd, idempotencyKey = crypto.randomUUID() } = options;
  const limits: RetryLimits = { clock, deadline: clock.now() + (options.timeoutMs ?? DEFAULT_TIMEOUT_MS), signal };
  const answer = await retry(async () => {
    const subscribed = await http.send('POST', '/subscribe', {
      signal,
      headers: idempotency({ idempotencyKey }),
      body: { listing_id: rawIdOf(listing), origin_currency: originCurrency },
    });
    if (subscribed.status >= 400 && errorOf(subscribed).isTemporary) throw errorOf(subscribed);
    return subscribed;
  }, limits);
  const data = (answer.json as { data?: unknown } | undefined)?.data;
  if (answer.status === 201) return data as Api.Subscription;
  const refusal = errorOf(answer);
  if (answer.status !== 402) throw refusal;
  const offer = asOffer(data as Api.SubscriptionOffer);
  if (!pay) throw new MarketplaceError({ ...refusal, message: refusal.message, payment: offer });
  if (offer.status !== 'verified') {
    const payer = [pay].flat().find((candidate) => candidate.canPay(offer));
    if (!payer)
      throw refused(
        offer,
        'no_payer',
        `No payer may pay ${offer.requirements.currency} on ${offer.requirements.network}`,
      );
    const routes = (): Promise<Api.PaymentRoute[]> =>
      retry(() => http.data('GET', '/payment-routes', { signal }), limits);
    await checkOffer(offer, { maxPriceUsd, listedPriceUsd: listedPriceOf(listing) }, clock.now(), routes);
    await retry(() => payOnce(offer, payer, store, signal), limits);
  }
  const { payment_id, relay_request_id } = offer;
  const verified = await retry(async () => {
    const verification = await paymentOperations(() => http).verify({ payment_id, relay_request_id }, { signal });
    if ('status' in verification) throw stillPending(offer, verification);
    return verification;
  }, limits);
  return verified.subscription;
}

export const subscriptionOperations = (http: () => HttpClient) => ({
  list: (query?: Api.SubscriptionQuery, options?: Cancellable): Promise<Api.Page<Api.ListedSubscription>> =>
    http().page('/subscriptions', query, options?.signal),

  get: (subscription: Identified, options?: Cancellable): Promise<Api.SubscriptionDetail> =>
    http().data('GET', `/subscriptions/${idOf(subscription)}`, options),

  cancel: (subscription: Identified, options?: Cancellable): Promise<Api.CancelledSubscription> =>
    http().data('DELETE', `/subscriptions/${idOf(subscription)}`, options),
});

export const paymentOperations = (http: () => HttpClient) => ({
  create: (
    listing: Identified,
    options: Cancellable & { idempotencyKey?: string } = {},
  ): Promise<Api.SubscriptionOffer> =>
    http().data('POST', '/payments', {
      signal: options.signal,
      headers: idempotency(options),
      body: { listing_id: rawIdOf(listing) },
    }),

  get: (payment: Identified, options?: Cancellable): Promise<Api.Payment> =>
    http().data('GET', `/payments/${idOf(payment)}`, options),

  /** The subscription the payment started; or that it is not final, and when to ask again. */
  verify: (proof: Api.PaymentProof, options?: Cancellable): Promise<Api.VerifiedPayment | Api.PaymentPending> =>
    http().data('POST', '/payments/verify', { ...options, body: proof }),
});

/** As payers know it. */
function asOffer(offer: Api.SubscriptionOffer): Api.Offer & { payment_id: string } {
  const { payment_id, status, requirements, fees, provider } = offer;
  return { payment_id, relay_request_id: requirements.relayRequestId, status, requirements, fees, provider };
}

function stillPending(payment: Api.Offer, { retry_after_seconds, reason }: Api.PaymentPending): MarketplaceError {
  return new MarketplaceError({
    status: 202,
    code: 'PAYMENT_PENDING',
    message: 'The payment was not confirmed in the time given to the subscription.',
    details: { reason },
    retryAfterSeconds: retry_after_seconds,
    payment,
  });
}
