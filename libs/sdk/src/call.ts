import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex } from '@noble/hashes/utils';
import { base64 } from '@scure/base';
import { checkOffer, refused } from './check-offer.js';
import type { Clock } from './clock.js';
import { compareDecimals } from './decimal.js';
import { MarketplaceError } from './errors.js';
import { CallJob, jobStateOf, type JobState } from './call-job.js';
import { errorOf, EVENT_STREAM, idOf, retryAfterSeconds, type HttpClient, type OpenAnswer } from './http.js';
import { bytesOf } from './file.js';
import { keylessOffers } from './keyless-offers.js';
import { payOnce, type KeptPayment, type Payer, type PaymentStore } from './payer.js';
import { backoffSeconds, pause, retry, type RetryLimits } from './retry.js';
import { AnswerStream, type Part, type Place } from './stream.js';
import type {
  CallFacts,
  GatewayResult,
  PaymentCurrency,
  Offer,
  PaymentRoute,
  PendingCall,
  WorkingCall,
  X402Settlement,
} from './types.js';

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
  /**
   * Limits the whole call with all its waiting; five minutes by default. Of a stream: the time to its beginning, and
   * again the time to find it again whenever the connection is lost.
   */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** The fields of the service's answer are in snake_case; those that this client adds are in camelCase. */
export interface CallResult<T = unknown> extends GatewayResult<T>, CallFacts {
  /** The whole answer as it was received. */
  rawBody: string;
  /**
   * Returns the bytes of an answer that is a file (`seller_response` is a `FileAnswer`), which it reads from the
   * marketplace if the answer does not contain them. With a key also those of a stream, as server-sent events.
   * @throws MarketplaceError with `NO_FILE`, or `DIGEST_MISMATCH` if they are not those of the answer.
   */
  bytes(): Promise<Uint8Array>;
}

/** What a call needs in addition to its options. */
export interface CallContext {
  http: HttpClient;
  clock: Clock;
  store: PaymentStore;
  path: string;
  /** Serialised once, because the payment is bound to these bytes. */
  body: string | Uint8Array;
  contentType: string;
  /** USD; the price of the listing as the caller knows it. */
  listedPriceUsd?: number;
}

/** What a call sends: an object as JSON; a Blob as bytes of its type, and a FormData, where the listing takes them. */
export type CallBody = object | Blob | FormData;

export async function serialised(body: CallBody): Promise<Pick<CallContext, 'body' | 'contentType'>> {
  if (!(body instanceof Blob || body instanceof FormData))
    return { body: JSON.stringify(body), contentType: 'application/json' };
  const sent = new Response(body);
  const contentType = sent.headers.get('content-type') ?? 'application/octet-stream';
  return { body: new Uint8Array(await sent.arrayBuffer()), contentType };
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
  /** A call that its seller works on is an answer, too. */
  #takesWorking = false;

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
      deadline: context.clock.now() + this.#timeoutMs,
      signal: options.signal,
    };
    this.#headers = new Headers(originHeaders(options));
    this.#headers.set('Content-Type', context.contentType);
    this.#headers.set('Idempotency-Key', options.idempotencyKey ?? crypto.randomUUID());
    this.#relayRequestId = options.relayRequestId;
    this.#mayPay = options.relayRequestId === undefined;
    this.#mayReroute = options.relayRequestId === undefined;
    this.#retriesLeft = options.retries ?? 0;
  }

  async run(): Promise<CallResult<T>> {
    const answer = await this.#answerThatStands();
    return this.#resultWith(resultOf<T>(answer), answer);
  }

  /** The same, with an answer that is read while its seller sends it. */
  async stream(): Promise<AnswerStream<T>> {
    this.#headers.set('Accept', EVENT_STREAM);
    const answer = await this.#answerThatStands();
    return new AnswerStream<T>(partOf(answer), (place) => this.#rejoin(place), this.#factsOf(answer));
  }

  /** The same, with what its seller says while it works on the call. */
  async job(): Promise<CallJob<CallResult<T>>> {
    this.#takesWorking = true;
    const answer = await this.#answerThatStands();
    const working = workingOf(answer);
    const { http } = this.context;
    const cancel = (id: string) =>
      http.data('DELETE', `/gateway-requests/${idOf(id)}`, { signal: this.options.signal });
    return new CallJob<CallResult<T>>(working && jobStateOf(working), this.#states(answer), cancel);
  }

  /** Repeats the request as often as its answer asks to, beyond the deadline of the job at most by the time of a call. */
  async *#states(answer: OpenAnswer): AsyncGenerator<JobState, CallResult<T>, undefined> {
    for (let last = ''; ;) {
      const working = workingOf(answer);
      if (!working) return this.#resultWith(resultOf<T>(answer), answer);
      const state = jobStateOf(working);
      this.#limits.deadline = state.deadline.getTime() + this.#timeoutMs;
      const said = JSON.stringify([state.percent, state.message]);
      if (said !== last) yield state;
      last = said;
      await pause(working.retry_after_seconds, stillPending(answer), this.#limits);
      answer = await this.#answerThatStands();
    }
  }

  /** Calls, and pays at most once, until an answer is not to be asked for again. */
  async #answerThatStands(): Promise<OpenAnswer> {
    try {
      if (this.options.relayRequestId) await this.#resume(this.options.relayRequestId);
      for (;;) {
        const answer = await this.#answer();
        if (answer.status === 202) return answer;
        if (answer.status === 200) {
          if (answer.events || !this.#asksSellerAgain(resultOf<T>(answer))) return answer;
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
  #answer(): Promise<OpenAnswer> {
    return retry(async () => {
      const answer = await this.context.http.open('POST', this.context.path, {
        rawBody: this.context.body,
        headers: this.#headers,
        signal: this.options.signal,
        ...this.#boundedByDeadline(),
      });
      const isPending = answer.status === 202 && !(this.#takesWorking && workingOf(answer));
      const failure = isPending ? stillPending(answer) : answer.status >= 400 && errorOf(answer);
      if (failure && failure.isTemporary) throw failure;
      return answer;
    }, this.#limits);
  }

  /**
   * Goes on with a stream whose connection was lost: behind the last event that can be named, or where that cannot be
   * read, by the same request with the same payment, which is answered from the beginning.
   */
  async #rejoin(place: Place): Promise<Part> {
    if (place.cuts === 1) this.#limits.deadline = this.context.clock.now() + this.#timeoutMs;
    const cut = new MarketplaceError({ status: 0, code: 'NETWORK_ERROR', message: 'The stream was cut off.' });
    await pause(backoffSeconds(place.cuts), cut, this.#limits);
    const { http } = this.context;
    if (http.hasCredential && place.requestId !== undefined) {
      const path = `/gateway-requests/${idOf(place.requestId)}/content`;
      const headers = { Accept: EVENT_STREAM, ...(place.id !== undefined && { 'Last-Event-ID': place.id }) };
      const { signal } = this.options;
      const content = await retry(async () => {
        const answer = await http.open('GET', path, { headers, signal, ...this.#boundedByDeadline() });
        if (answer.status >= 400 && errorOf(answer).isTemporary) throw errorOf(answer);
        return answer;
      }, this.#limits);
      if (content.events) return { ...partOf(content), known: place.id === undefined ? place.events : place.behindId };
    }
    const answer = await this.#answer();
    if (answer.status !== 200) throw errorOf(answer);
    return { ...partOf(answer), known: place.events };
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
    const next = result.recovery?.next_action;
    // The payment of a stream that broke off is owed back, and buys nothing any more.
    const isPaymentOver = next === 'request_new_payment_requirements' && this.#relayRequestId !== undefined;
    const isFinal = next === 'fix_request' || next === 'do_not_retry' || isPaymentOver;
    if (result.billable || this.#retriesLeft === 0 || isFinal) return false;
    this.#retriesLeft -= 1;
    this.#sellerFailures += 1;
    if (result.recovery?.use_new_idempotency_key) {
      this.#deriveIdempotencyKey(`seller-retry-${this.#sellerFailures}`);
    }
    return true;
  }

  #waitForSeller(answer: OpenAnswer): Promise<void> {
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

  get #timeoutMs(): number {
    return this.options.timeoutMs ?? DEFAULT_CALL_TIMEOUT_MS;
  }

  #boundedByDeadline(): { timeoutMs?: number } {
    const left = this.#limits.deadline - this.context.clock.now();
    return left < this.context.http.timeoutMs ? { timeoutMs: Math.max(1, left) } : {};
  }

  #factsOf(answer: OpenAnswer): CallFacts {
    return {
      relayRequestId: this.#relayRequestId ?? null,
      idempotencyKey: this.#idempotencyKey,
      settlement: settlementOf(answer),
    };
  }

  #resultWith(result: GatewayResult<T>, answer: OpenAnswer): CallResult<T> {
    return {
      ...result,
      ...this.#factsOf(answer),
      rawBody: answer.text,
      bytes: () => bytesOf(result, () => this.#readFile(result)),
    };
  }

  /** A buyer without a key has no history, and repeats the call instead. */
  #readFile(result: GatewayResult<T>): Promise<Uint8Array> {
    const { http, path, body: rawBody } = this.context;
    const { signal } = this.options;
    if (http.hasCredential)
      return http.bytes('GET', `/gateway-requests/${idOf(result.request_id)}/content`, { signal });
    const headers = new Headers(this.#headers);
    headers.set('Accept', 'application/octet-stream');
    return http.bytes('POST', path, { rawBody, headers, signal });
  }
}

const partOf = (answer: OpenAnswer): Part => (answer.events ? { events: answer.events } : { result: resultOf(answer) });

function resultOf<T>(answer: OpenAnswer): GatewayResult<T> {
  const result = (answer.json as { data?: GatewayResult<T> } | undefined)?.data;
  if (typeof result?.billable !== 'boolean') throw errorOf(answer);
  return result;
}

const workingOf = (answer: OpenAnswer): WorkingCall | null => {
  const { data } = (answer.json ?? {}) as { data?: Partial<WorkingCall> };
  return answer.status === 202 && data?.status === 'working' ? (data as WorkingCall) : null;
};

function stillPending(answer: OpenAnswer): MarketplaceError {
  const working = workingOf(answer);
  if (working)
    return new MarketplaceError({
      status: 202,
      code: 'JOB_WORKING',
      message:
        'The seller works on the call and did not deliver in the time given to it; job() waits until its deadline.',
      details: { request_id: working.request_id, deadline: working.deadline },
      retryAfterSeconds: working.retry_after_seconds,
    });
  type Pending = Partial<Exclude<PendingCall, WorkingCall>>;
  const body = answer.json as { data?: Pending; retry_after_seconds?: number } | undefined;
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
function settlementOf({ headers }: OpenAnswer): X402Settlement | null {
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
