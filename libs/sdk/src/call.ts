import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex } from '@noble/hashes/utils';
import { base64 } from '@scure/base';
import { checkOffer, refused } from './check-offer.js';
import type { Clock } from './clock.js';
import { compareDecimals } from './decimal.js';
import { MarketplaceError } from './errors.js';
import { errorOf, retryAfterSeconds, type HttpAnswer, type HttpClient } from './http.js';
import { keylessOffers } from './keyless-offers.js';
import { payOnce, type KeptPayment, type Payer, type PaymentStore } from './payer.js';
import { backoffSeconds, pause, retry, type RetryLimits } from './retry.js';
import type { GatewayResult, PaymentCurrency, Offer, PaymentRoute, PendingCall, X402Settlement } from './types.js';

export interface CallOptions {
  /**
   * The first payer that can pay the offer is used. Without a payer a 402 is thrown, with its offer in `error.payment`.
   */
  pay?: Payer | readonly Payer[];
  /** USD, as a decimal, 1 by default. A more expensive offer is not paid but refused with `PRICE_ABOVE_LIMIT`. */
  maxPriceUsd?: string | number;
  /** USD, as a decimal, 0 by default. How much an offer may exceed the price of the call for its payment route. */
  maxRouteFeeUsd?: string | number;
  /** Identifies one purchase. Store it to repeat the call after a crash. A random one by default. */
  idempotencyKey?: string;
  /** Continues with a payment that was made before. Such a call never pays. */
  relayRequestId?: string;
  originCurrency?: PaymentCurrency;
  originChainId?: string | number;
  originWalletId?: string;
  /** How often the seller is called again, with the same payment, when it did not deliver. 0 by default. */
  retries?: number;
  /** Limits the whole call with all its waiting; five minutes by default. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** The fields of the service's answer are in snake_case; those that this client adds are in camelCase. */
export interface CallResult<T = unknown> extends GatewayResult<T> {
  /** The payment of the call; null when the call was free, or when its key was answered from an earlier call. */
  relayRequestId: string | null;
  idempotencyKey: string;
  /** The settlement of a signed payment, once it is charged. */
  settlement: X402Settlement | null;
  /** The whole answer as it was received. */
  rawBody: string;
}

/** What a call needs in addition to its options. */
export interface CallContext {
  http: HttpClient;
  clock: Clock;
  store: PaymentStore;
  path: string;
  /** Serialised once, because the payment is bound to these bytes. */
  body: string;
  /** USD; the price of the listing as the caller knows it. */
  listedPriceUsd?: number;
}

const DEFAULT_CALL_TIMEOUT_MS = 300_000;
/** The default maximum of standard x402 clients. */
const DEFAULT_MAX_PRICE_USD = '1';

/**
 * One logical call of a listing. It has one idempotency key, one body and at most one payment, however often the
 * network, the payment rail or the seller causes it to repeat the request.
 */
export class LogicalCall<T> {
  readonly #limits: RetryLimits;
  readonly #headers: Headers;
  readonly #payers: readonly Payer[];
  #relayRequestId: string | undefined;
  #mayPay: boolean;
  #mayReroute: boolean;
  #retriesLeft: number;
  #sellerFailures = 0;

  constructor(
    private readonly context: CallContext,
    private readonly options: CallOptions,
  ) {
    // An invalid limit is reported before anything is paid.
    for (const limit of [options.maxPriceUsd, options.maxRouteFeeUsd])
      if (limit !== undefined) compareDecimals(limit, 0);
    this.#payers = options.pay === undefined ? [] : [options.pay].flat();
    this.#limits = {
      clock: context.clock,
      deadline: context.clock.now() + (options.timeoutMs ?? DEFAULT_CALL_TIMEOUT_MS),
      signal: options.signal,
    };
    this.#headers = new Headers(originHeaders(options));
    this.#headers.set('Idempotency-Key', options.idempotencyKey ?? crypto.randomUUID());
    this.#relayRequestId = options.relayRequestId;
    this.#mayPay = options.relayRequestId === undefined;
    this.#mayReroute = options.relayRequestId === undefined;
    this.#retriesLeft = options.retries ?? 0;
  }

  async run(): Promise<CallResult<T>> {
    try {
      if (this.options.relayRequestId) await this.#resume(this.options.relayRequestId);
      for (;;) {
        const answer = await this.#answer();
        if (answer.status === 200) {
          const result = resultOf<T>(answer);
          if (!this.#asksSellerAgain(result)) return this.#resultWith(result, answer);
          await this.#waitForSeller(answer);
          continue;
        }
        const refusal = errorOf(answer);
        if (refusal.code === 'PAYMENT_ROUTE_MINIMUM_NOT_MET' && this.#mayReroute) this.#reroute(refusal);
        else if (refusal.payment && this.#payers.length > 0 && this.#mayPay) await this.#pay(refusal.payment);
        else throw refusal;
      }
    } catch (error) {
      if (error instanceof MarketplaceError) error.relayRequestId ??= this.#relayRequestId;
      throw error;
    }
  }

  /** Repeats the request while it is answered with a temporary refusal or the connection is lost. */
  #answer(): Promise<HttpAnswer> {
    return retry(async () => {
      const answer = await this.context.http.send('POST', this.context.path, {
        rawBody: this.context.body,
        headers: this.#headers,
        signal: this.options.signal,
        ...this.#boundedByDeadline(),
      });
      const failure = answer.status === 202 ? stillPending(answer) : answer.status >= 400 && errorOf(answer);
      if (failure && failure.isTemporary) throw failure;
      return answer;
    }, this.#limits);
  }

  async #pay(asked: Offer): Promise<void> {
    const { http, clock, listedPriceUsd } = this.context;
    const { maxPriceUsd = DEFAULT_MAX_PRICE_USD, maxRouteFeeUsd, signal } = this.options;
    const { payer, offer } = this.#choose(asked, http.hasCredential ? [asked] : keylessOffers(asked));
    const routes = (): Promise<PaymentRoute[]> =>
      retry(() => http.data('GET', '/payment-routes', { signal }), this.#limits);
    await checkOffer(offer, { maxPriceUsd, maxRouteFeeUsd, listedPriceUsd }, clock.now(), routes);
    this.#mayPay = false;
    this.#mayReroute = false;
    this.#relayRequestId = offer.relay_request_id;
    this.#standOn(await this.#payOnce(offer, payer));
  }

  #choose(asked: Offer, offers: Offer[]): { payer: Payer; offer: Offer } {
    // The service stores a keyless offer only when its signature arrives, so a transfer for it would be lost.
    const payers = this.context.http.hasCredential ? this.#payers : this.#payers.filter(({ send }) => !send);
    for (const payer of payers) {
      const offer = offers.find((candidate) => payer.canPay(candidate));
      if (offer) return { payer, offer };
    }
    throw refused(
      asked,
      'no_payer',
      `No payer may pay ${asked.requirements.currency} on ${asked.requirements.network}`,
    );
  }

  #payOnce(offer: Offer, payer: Payer): Promise<KeptPayment> {
    const { store } = this.context;
    return retry(() => payOnce(offer, payer, store, this.options.signal), this.#limits).catch((cause: unknown) => {
      const message = `Paying failed: ${cause instanceof Error ? cause.message : String(cause)}`;
      throw new MarketplaceError({ status: 402, code: 'PAYMENT_FAILED', message, payment: offer, cause });
    });
  }

  /** Sends the payment that is stored for the id again, in case it was not sent. Nothing new is paid. */
  async #resume(relayRequestId: string): Promise<void> {
    const kept = await this.context.store.find(relayRequestId);
    if (!kept) return;
    const sender = this.#payers.find(({ rail, send }) => rail === kept.rail && send);
    if (sender) await this.#payOnce(kept.offer, sender);
    this.#standOn(kept);
  }

  #standOn({ headers, offer }: KeptPayment): void {
    this.#setHeaders(headers, marketHeaders(offer.retry_headers), {
      'X-Market-Relay-Request-Id': offer.relay_request_id,
    });
  }

  /**
   * A request for another route needs another key. It is derived from the first, so that a repetition after a crash
   * uses the same one.
   */
  #reroute(refusal: MarketplaceError): void {
    this.#mayReroute = false;
    const { recommended_gateway_headers: recommended } = refusal.details ?? {};
    this.#setHeaders({ 'X-Market-Origin-Currency': 'SOL' }, marketHeaders(recommended));
    this.#deriveIdempotencyKey('SOL');
  }

  #asksSellerAgain(result: GatewayResult<T>): boolean {
    const isFinal = result.recovery?.next_action === 'fix_request' || result.recovery?.next_action === 'do_not_retry';
    if (result.billable || this.#retriesLeft === 0 || isFinal) return false;
    this.#retriesLeft -= 1;
    this.#sellerFailures += 1;
    if (result.recovery?.use_new_idempotency_key) {
      this.#deriveIdempotencyKey(`seller-retry-${this.#sellerFailures}`);
    }
    return true;
  }

  #waitForSeller(answer: HttpAnswer): Promise<void> {
    const message = 'The seller did not deliver in the time given to the call; nobody was charged.';
    const giveUp = new MarketplaceError({ status: answer.status, code: 'TIMEOUT', message });
    return pause(retryAfterSeconds(answer.headers) ?? backoffSeconds(this.#sellerFailures), giveUp, this.#limits);
  }

  #setHeaders(...groups: (Record<string, string> | undefined)[]): void {
    for (const [name, value] of groups.flatMap((group) => Object.entries(group ?? {}))) this.#headers.set(name, value);
  }

  #deriveIdempotencyKey(purpose: string): void {
    this.#headers.set('Idempotency-Key', bytesToHex(sha256(`${this.#idempotencyKey}\n${purpose}`)));
  }

  get #idempotencyKey(): string {
    return this.#headers.get('Idempotency-Key') ?? '';
  }

  #boundedByDeadline(): { timeoutMs?: number } {
    const left = this.#limits.deadline - this.context.clock.now();
    return left < this.context.http.timeoutMs ? { timeoutMs: Math.max(1, left) } : {};
  }

  #resultWith(result: GatewayResult<T>, answer: HttpAnswer): CallResult<T> {
    return {
      ...result,
      relayRequestId: this.#relayRequestId ?? null,
      idempotencyKey: this.#idempotencyKey,
      settlement: settlementOf(answer),
      rawBody: answer.text,
    };
  }
}

function resultOf<T>(answer: HttpAnswer): GatewayResult<T> {
  const result = (answer.json as { data?: GatewayResult<T> } | undefined)?.data;
  if (typeof result?.billable !== 'boolean') throw errorOf(answer);
  return result;
}

function stillPending(answer: HttpAnswer): MarketplaceError {
  const body = answer.json as { data?: Partial<PendingCall>; retry_after_seconds?: number } | undefined;
  return new MarketplaceError({
    status: 202,
    code: 'PAYMENT_PENDING',
    message: 'The payment was not confirmed in the time given to the call.',
    ...(body?.data?.reason && { details: { reason: body.data.reason } }),
    retryAfterSeconds:
      body?.data?.retry_after_seconds ?? body?.retry_after_seconds ?? retryAfterSeconds(answer.headers),
  });
}

/** A header that cannot be decoded is ignored, because the receipt says the same. */
function settlementOf({ headers }: HttpAnswer): X402Settlement | null {
  const header = headers.get('payment-response');
  if (header === null) return null;
  try {
    return JSON.parse(new TextDecoder().decode(base64.decode(header))) as X402Settlement;
  } catch {
    return null;
  }
}

function originHeaders(options: CallOptions): Record<string, string> {
  return {
    ...(options.originCurrency && { 'X-Market-Origin-Currency': options.originCurrency }),
    ...(options.originChainId !== undefined && { 'X-Market-Origin-Chain-Id': String(options.originChainId) }),
    ...(options.originWalletId && { 'X-Market-Origin-Wallet-Id': options.originWalletId }),
    ...(options.relayRequestId && { 'X-Market-Relay-Request-Id': options.relayRequestId }),
  };
}

/** An answer may add only `X-Market-*` headers to the next request; `Authorization` in particular must not change. */
function marketHeaders(given: unknown): Record<string, string> {
  if (typeof given !== 'object' || given === null) return {};
  return Object.fromEntries(
    Object.entries(given).filter(([name, value]) => /^x-market-/i.test(name) && typeof value === 'string'),
  );
}
