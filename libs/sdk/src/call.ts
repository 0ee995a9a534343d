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
  /** Of several the first that can pay the offer. Without one a 402 is thrown, its offer in `error.payment`. */
  pay?: Payer | readonly Payer[];
  /** USD, as a decimal, 1 by default; a dearer offer is refused with `PRICE_ABOVE_LIMIT` and not paid. */
  maxPriceUsd?: string | number;
  /** USD, as a decimal, none by default: what an offer may ask above the price of the call for the route it takes. */
  maxRouteFeeUsd?: string | number;
  /** One key for one intention; keep it to repeat the call after a crash. A random one by default. */
  idempotencyKey?: string;
  /** Goes on with a payment made before; such a call never pays. */
  relayRequestId?: string;
  originCurrency?: PaymentCurrency;
  originChainId?: string | number;
  originWalletId?: string;
  /** How often the seller is asked again, on the same payment, when it did not deliver. None by default. */
  retries?: number;
  /** The whole call with all its waiting; five minutes by default. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** The service's result in its own snake_case names; what this client adds is in camelCase. */
export interface CallResult<T = unknown> extends GatewayResult<T> {
  /** The payment the call stands on; null when it cost nothing, or its key was answered from an earlier call. */
  relayRequestId: string | null;
  idempotencyKey: string;
  /** Of a payment that was signed, once it is charged. */
  settlement: X402Settlement | null;
  /** The whole answer as it came. */
  rawBody: string;
}

/** Where and by what a call is made, beside its options. */
export interface CallContext {
  http: HttpClient;
  clock: Clock;
  store: PaymentStore;
  path: string;
  /** Serialised once: the payment is bound to these bytes. */
  body: string;
  /** USD; what the caller knows the listing to cost. */
  listedPriceUsd?: number;
}

const DEFAULT_CALL_TIMEOUT_MS = 300_000;
/** What stock x402 clients pay at most unless told otherwise. */
const DEFAULT_MAX_PRICE_USD = '1';

/**
 * One logical call of a listing: one idempotency key, one body, one payment at most, however often the network, the
 * payment rail or the seller makes it repeat the request.
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
    // A limit that is none is found out before a payment hangs on it.
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

  /** Repeats the request until its answer is more than "not yet", "too fast", "not now" or a lost connection. */
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
    // An offer to nobody is written down only when its signature comes: what is transferred for it would be lost.
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

  /** What was kept for the id is sent again, in case it was not sent; nothing new is paid. */
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

  /** Another route is another request and needs another key; derived, so that a repeat after a crash finds it again. */
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

/** What does not read is as if it were not there: the receipt says the same. */
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

/** An answer may add `X-Market-*` headers to the next request and no others, least of all `Authorization`. */
function marketHeaders(given: unknown): Record<string, string> {
  if (typeof given !== 'object' || given === null) return {};
  return Object.fromEntries(
    Object.entries(given).filter(([name, value]) => /^x-market-/i.test(name) && typeof value === 'string'),
  );
}
