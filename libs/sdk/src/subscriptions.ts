import { checkOffer, refused } from './check-offer.js';
import type { Clock } from './clock.js';
import { MarketplaceError } from './errors.js';
import { errorOf, idempotency, idOf, listedPriceOf, rawIdOf } from './http.js';
import type { Cancellable, HttpAnswer, HttpClient, Identified, PricedListing } from './http.js';
import { payOnce, type Payer, type PaymentStore } from './payer.js';
import { retry, type RetryLimits } from './retry.js';
import type * as Api from './types.js';

export interface SubscribeOptions extends Cancellable {
  /** Without a payer a 402 is thrown, with its offer in `error.payment`. */
  pay?: Payer | readonly Payer[];
  /** USD, as a decimal. A more expensive offer is refused with `PRICE_ABOVE_LIMIT`. No limit by default. */
  maxPriceUsd?: string | number;
  originCurrency?: Api.PaymentCurrency;
  idempotencyKey?: string;
  /** Limits the whole operation, including waits for outages and for the final payment; five minutes by default. */
  timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 300_000;

/** Makes one subscription: requests it, pays it at most once, and verifies the payment until it is final. */
export async function subscribe(
  { http, clock, store }: { http: HttpClient; clock: Clock; store: PaymentStore },
  listing: PricedListing,
  options: SubscribeOptions,
): Promise<Api.Subscription> {
  const { originCurrency, signal, pay, maxPriceUsd, idempotencyKey = crypto.randomUUID() } = options;
  const limits: RetryLimits = { clock, deadline: clock.now() + (options.timeoutMs ?? DEFAULT_TIMEOUT_MS), signal };
  const ask = (proof: Record<string, string> = {}): Promise<HttpAnswer> =>
    retry(async () => {
      const subscribed = await http.send('POST', '/subscribe', {
        signal,
        headers: { ...idempotency({ idempotencyKey }), ...proof },
        body: { listing_id: rawIdOf(listing), origin_currency: originCurrency },
      });
      if (subscribed.status === 202) throw stillPending(pendingOf(subscribed));
      if (subscribed.status >= 400 && errorOf(subscribed).isTemporary) throw errorOf(subscribed);
      return subscribed;
    }, limits);
  const answer = await ask();
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
    const { headers } = await retry(() => payOnce(offer, payer, store, signal), limits);
    if (headers) {
      const paid = await ask(headers);
      if (paid.status !== 201) throw errorOf(paid);
      return (paid.json as { data: Api.Subscription }).data;
    }
  }
  const { payment_id, relay_request_id } = offer;
  const verified = await retry(async () => {
    const verification = await paymentOperations(() => http).verify({ payment_id, relay_request_id }, { signal });
    if ('status' in verification) throw stillPending(verification, offer);
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

  /** Returns the subscription that the payment started, or when to ask again because the payment is not final. */
  verify: (proof: Api.PaymentProof, options?: Cancellable): Promise<Api.VerifiedPayment | Api.PaymentPending> =>
    http().data('POST', '/payments/verify', { ...options, body: proof }),
});

/** The offer in the form that payers take. */
function asOffer(offer: Api.SubscriptionOffer): Api.Offer & { payment_id: string } {
  const { payment_id, status, requirements, fees, provider, x402 } = offer;
  return { payment_id, relay_request_id: requirements.relayRequestId, status, requirements, fees, provider, x402 };
}

const pendingOf = ({ json }: HttpAnswer): Api.PaymentPending => (json as { data: Api.PaymentPending }).data;

function stillPending({ retry_after_seconds, reason }: Api.PaymentPending, payment?: Api.Offer): MarketplaceError {
  return new MarketplaceError({
    status: 202,
    code: 'PAYMENT_PENDING',
    message: 'The payment was not confirmed in the time given to the subscription.',
    details: { reason },
    retryAfterSeconds: retry_after_seconds,
    payment,
  });
}
