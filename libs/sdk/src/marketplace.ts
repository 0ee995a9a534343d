import { LogicalCall, serialised, type CallBody, type CallContext, type CallOptions, type CallResult } from './call.js';
import type { CallJob } from './call-job.js';
import { systemClock, type Clock } from './clock.js';
import { followEvents, type EventOptions } from './events.js';
import { HttpClient, idempotency, idOf, listedPriceOf } from './http.js';
import type { Cancellable, HttpAnswer, Identified, Method, PricedListing, RequestOptions } from './http.js';
import {
  agreeToClaim,
  claimAgent,
  openSession,
  proveWallet,
  recoverAccount,
  Wallets,
  type Confirm,
} from './identity.js';
import { RecentPayments, type PaymentStore } from './payer.js';
import { solveProofOfWork, type ProofOfWorkOptions } from './proof-of-work.js';
import type { AnswerStream } from './stream.js';
import { statementOperations } from './statements.js';
import { paymentOperations, subscribe, subscriptionOperations, type SubscribeOptions } from './subscriptions.js';
import type * as Api from './types.js';
import { webhookOperations } from './webhooks.js';
import type { Wallet } from './wallets.js';

export interface MarketplaceOptions {
  /** With or without `/api/v1` at its end. */
  baseUrl: string;
  apiKey?: string;
  /** An `authorization_header` as registration returned it. It has precedence over `apiKey`. */
  authorization?: string;
  fetch?: typeof fetch;
  /** Limits every single HTTP request; a minute by default. */
  timeoutMs?: number;
  /** Cancels everything this client does. */
  signal?: AbortSignal;
  clock?: Clock;
  /** The store of payments; by default they are kept in memory and lost with the process. */
  payments?: PaymentStore;
}

const DEFAULT_TIMEOUT_MS = 60_000;

/**
 * The client of one agent. Refusals and network failures are thrown as `MarketplaceError`. Only `call` and `subscribe`
 * repeat requests.
 */
export class Marketplace {
  readonly #options: MarketplaceOptions;
  readonly #http: HttpClient;
  readonly #payments: PaymentStore;
  readonly wallets: Wallets;

  constructor(options: MarketplaceOptions) {
    this.#options = options;
    this.#http = new HttpClient({
      baseUrl: options.baseUrl,
      authorization: options.authorization ?? (options.apiKey && `Bearer ${options.apiKey}`),
      fetch: options.fetch ?? fetch,
      timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      signal: options.signal,
    });
    this.#payments = options.payments ?? new RecentPayments();
    this.wallets = new Wallets(this.#http);
  }

  /** Ends in `/api/v1`. */
  get baseUrl(): string {
    return this.#http.baseUrl;
  }

  /** Sends any request and returns its answer as it was received, with any status. */
  send(method: Method, path: string, options?: RequestOptions): Promise<HttpAnswer> {
    return this.#http.send(method, path, options);
  }

  /** Sends any request and returns the `data` of its success. @throws MarketplaceError for other answers. */
  request<T = unknown>(method: Method, path: string, options?: RequestOptions): Promise<T> {
    return this.#http.data<T>(method, path, options);
  }

  health(options?: Cancellable): Promise<Api.Health> {
    return this.#http.data('GET', '/health', options);
  }

  challenge(body: Api.ChallengeRequest, options?: Cancellable): Promise<Api.Challenge> {
    return this.#http.data('POST', '/auth/challenge', { ...options, body });
  }

  /** Proves the wallet, solves the proof of work and registers. Returns a client that uses the key just issued. */
  async register(
    wallet: Wallet,
    { displayName, signal, onProgress }: ProofOfWorkOptions & { displayName?: string } = {},
  ): Promise<{ marketplace: Marketplace; registration: Api.Registration }> {
    const { proof, challenge } = await proveWallet(this.#http, wallet, 'registration', { signal });
    const powNonce = await solveProofOfWork(challenge.pow, { signal, onProgress });
    const body = { ...proof, pow_nonce: powNonce, display_name: displayName };
    const registration = await this.#http.data<Api.Registration>('POST', '/register', { signal, body });
    return { marketplace: this.authorizedBy(registration.authorization_header), registration };
  }

  /** Issues a new key for an agent that lost its own. Returns a client that uses it. */
  async recover(
    wallet: Wallet,
    options: ProofOfWorkOptions & { revokeExisting?: boolean } = {},
  ): Promise<{ marketplace: Marketplace; recovery: Api.RecoveredAccount }> {
    const recovery = await recoverAccount(this.#http, wallet, options);
    return { marketplace: this.authorizedBy(recovery.authorization_header), recovery };
  }

  /** Signs a human operator in, and creates the account on the first time. Returns a client that acts for the human. */
  async signIn(wallet: Wallet, options: Cancellable = {}): Promise<{ marketplace: Marketplace; session: Api.Session }> {
    const session = await openSession(this.#http, wallet, options);
    return { marketplace: this.authorizedBy(`Bearer ${session.session_token}`), session };
  }

  /** Ends the session of this client. */
  signOut(options?: Cancellable): Promise<{ ended: true }> {
    return this.#http.data('DELETE', '/auth/session', options);
  }

  /** Claims an agent for the human of this client. */
  claim(agent: Identified, agentWallet: Wallet, options: Cancellable = {}): Promise<Api.Claim> {
    return claimAgent(this.#http, agent, agentWallet, options);
  }

  /** Begins to claim an agent, which finishes it with `agreeToClaim`. */
  claimCode(agent: Identified, options?: Cancellable): Promise<Api.ClaimCode> {
    return this.#http.data('POST', `/agents/${idOf(agent)}/claim-code`, options);
  }

  /** Lets the agent of this client be claimed by the human who made the code. */
  agreeToClaim(code: string, wallet: Wallet, options: Cancellable & { confirm?: Confirm } = {}): Promise<Api.Claim> {
    return agreeToClaim(this.#http, code, wallet, options);
  }

  /** Returns the same client with another credential, which is sent exactly as given. */
  authorizedBy(authorization: string): Marketplace {
    return new Marketplace({ ...this.#options, authorization, payments: this.#payments });
  }

  me(options?: Cancellable): Promise<Api.AgentProfile> {
    return this.#http.data('GET', '/me', options);
  }

  readonly apiKeys = {
    list: (options?: Cancellable): Promise<Api.ApiKey[]> => this.#http.data('GET', '/api-keys', options),

    create: (body: Api.CreateApiKey, options?: Cancellable & { idempotencyKey?: string }): Promise<Api.CreatedApiKey> =>
      this.#http.data('POST', '/api-keys', { signal: options?.signal, headers: idempotency(options), body }),

    /** Returns the key with its budget, and how much of it is spent and left. */
    get: (key: Identified, options?: Cancellable): Promise<Api.ApiKeyDetail> =>
      this.#http.data('GET', `/api-keys/${idOf(key)}`, options),

    update: (key: Identified, changes: Api.UpdateApiKey, options?: Cancellable): Promise<Api.ApiKeyDetail> =>
      this.#http.data('PATCH', `/api-keys/${idOf(key)}`, { ...options, body: changes }),

    revoke: (key: Identified, options?: Cancellable): Promise<Api.RevokedApiKey> =>
      this.#http.data('DELETE', `/api-keys/${idOf(key)}`, options),
  };

  /** The budget that all keys of the agent share. */
  readonly budget = {
    get: (options?: Cancellable): Promise<Api.AgentBudget> => this.#http.data('GET', '/me/budget', options),

    update: (changes: Api.UpdateBudget, options?: Cancellable): Promise<Api.AgentBudget> =>
      this.#http.data('PATCH', '/me/budget', { ...options, body: changes }),
  };

  categories(options?: Cancellable): Promise<Api.Category[]> {
    return this.#http.data('GET', '/categories', options);
  }

  readonly listings = {
    search: (query?: Api.ListingQuery, options?: Cancellable): Promise<Api.Page<Api.Listing>> =>
      this.#http.page('/listings', query, options?.signal),

    get: (listing: Identified, options?: Cancellable): Promise<Api.ListingDetail> =>
      this.#http.data('GET', `/listings/${idOf(listing)}`, options),

    challenge: (options?: Cancellable): Promise<Api.ListingChallenge> =>
      this.#http.data('POST', '/listings/challenge', options),

    /** Solves the proof of work of a new listing and creates it. */
    create: async (
      listing: Api.CreateListing,
      options?: ProofOfWorkOptions & { idempotencyKey?: string },
    ): Promise<Api.CreatedListing> => {
      const puzzle = await this.listings.challenge({ signal: options?.signal });
      const powNonce = await solveProofOfWork(puzzle, options);
      return this.#http.data('POST', '/listings', {
        signal: options?.signal,
        headers: idempotency(options),
        body: { ...listing, challenge: puzzle.challenge, pow_nonce: powNonce },
      });
    },

    update: (listing: Identified, body: Api.UpdateListing, options?: Cancellable): Promise<Api.UpdatedListing> =>
      this.#http.data('PATCH', `/listings/${idOf(listing)}`, { ...options, body }),

    /** What buyers and indexers see of an own listing, and what to do where they do not. */
    validate: (
      listing: Identified,
      { signal, ...body }: Cancellable & Api.ValidateListing = {},
    ): Promise<Api.ListingValidation> =>
      this.#http.data('POST', '/listings/validate', { signal, body: { listing: idOf(listing), ...body } }),

    remove: (listing: Identified, options?: Cancellable): Promise<Api.RemovedListing> =>
      this.#http.data('DELETE', `/listings/${idOf(listing)}`, options),
  };

  /** The private endpoint of one's own per_call listing. */
  readonly endpoint = {
    get: (listing: Identified, options?: Cancellable): Promise<Api.Endpoint> =>
      this.#http.data('GET', `/listings/${idOf(listing)}/endpoint`, options),

    update: (listing: Identified, body: Api.UpdateEndpoint, options?: Cancellable): Promise<Api.Endpoint> =>
      this.#http.data('PUT', `/listings/${idOf(listing)}/endpoint`, { ...options, body }),

    /** Sends `body`, or else the listing's example_input. */
    test: (listing: Identified, { body, signal }: Cancellable & { body?: object } = {}): Promise<Api.EndpointTest> =>
      this.#http.data('POST', `/listings/${idOf(listing)}/endpoint/test`, { signal, body: body && { body } }),

    /** Calls are signed with both secrets for `overlap` seconds, a day by default. */
    rotateSecret: (
      listing: Identified,
      { overlapSeconds, signal }: Cancellable & { overlapSeconds?: number } = {},
    ): Promise<Api.RotatedSecret> =>
      this.#http.data('POST', `/listings/${idOf(listing)}/endpoint/rotate-secret`, {
        signal,
        body: { overlap_seconds: overlapSeconds },
      }),
  };

  /**
   * Calls a per_call listing and pays once if it must. It waits while the payment is being confirmed and during outages
   * and rate limits, and repeats a request whose answer was lost with the same payment. A `MarketplaceError` after
   * paying has the `relayRequestId` to resume with. A client without a key calls without an account, which only
   * `x402Payer` can pay for.
   */
  async call<T = unknown>(listing: PricedListing, body: CallBody, options: CallOptions = {}): Promise<CallResult<T>> {
    return (await this.#calling<T>(listing, body, options)).run();
  }

  /**
   * The same for a listing that answers with a stream, whose events it returns as they come. A lost connection is joined
   * again, and each event is given once. `call` returns them together, when the stream is over.
   */
  async stream<T = unknown>(
    listing: PricedListing,
    body: CallBody,
    options: CallOptions = {},
  ): Promise<AnswerStream<T>> {
    return (await this.#calling<T>(listing, body, options)).stream();
  }

  /**
   * The same for a listing whose seller takes the call and delivers later: returns at once, with what the seller says
   * while it works. `call` waits for the delivery, too, for `timeoutMs`.
   */
  async job<T = unknown>(
    listing: PricedListing,
    body: CallBody,
    options: CallOptions = {},
  ): Promise<CallJob<CallResult<T>>> {
    return (await this.#calling<T>(listing, body, options)).job();
  }

  async #calling<T>(listing: PricedListing, body: CallBody, options: CallOptions): Promise<LogicalCall<T>> {
    const context: CallContext = {
      http: this.#http,
      clock: this.#options.clock ?? systemClock,
      store: this.#payments,
      path: `/${this.#http.hasCredential ? 'gateway' : 'x402'}/${idOf(listing)}`,
      ...(await serialised(body)),
      listedPriceUsd: listedPriceOf(listing),
    };
    return new LogicalCall<T>(context, options);
  }

  readonly gatewayRequests = {
    list: (query?: Api.GatewayRequestQuery, options?: Cancellable): Promise<Api.Page<Api.GatewayRequest>> =>
      this.#http.page('/gateway-requests', query, options?.signal),

    all: (query?: Api.GatewayRequestQuery, options?: Cancellable): AsyncGenerator<Api.GatewayRequest> =>
      this.#http.all('/gateway-requests', query, options?.signal),

    get: (request: Identified, options?: Cancellable): Promise<Api.GatewayRequestDetail> =>
      this.#http.data('GET', `/gateway-requests/${idOf(request)}`, options),

    /** Asks the seller of a job to stop. */
    cancel: (request: Identified, options?: Cancellable): Promise<Api.CancelledCall> =>
      this.#http.data('DELETE', `/gateway-requests/${idOf(request)}`, options),
  };

  /**
   * Reads the events of this account as they happen, until the signal is aborted or the loop is left. Lost connections
   * are resumed.
   */
  events(options: EventOptions = {}): AsyncGenerator<Api.AccountEvent, void, undefined> {
    return followEvents({ http: this.#http, clock: this.#options.clock ?? systemClock }, options);
  }

  readonly webhooks = webhookOperations(() => this.#http);

  readonly ledger = {
    list: (query?: Api.LedgerQuery, options?: Cancellable): Promise<Api.Page<Api.LedgerEntry>> =>
      this.#http.page('/ledger', query, options?.signal),

    all: (query?: Api.LedgerQuery, options?: Cancellable): AsyncGenerator<Api.LedgerEntry> =>
      this.#http.all('/ledger', query, options?.signal),
  };

  /** Amounts earned and received, and fees and refunds due. */
  balance(options?: Cancellable): Promise<Api.Balance> {
    return this.#http.data('GET', '/me/balance', options);
  }

  readonly statements = statementOperations(() => this.#http);

  /** The refunds that this account is owed or owes. */
  readonly refunds = {
    list: (query?: Api.RefundQuery, options?: Cancellable): Promise<Api.Page<Api.Refund>> =>
      this.#http.page('/refunds', query, options?.signal),

    /** Names the transaction that paid a refund. The marketplace looks it up on the chain. */
    confirm: (refund: Identified, transaction: string, options?: Cancellable): Promise<Api.Refund> =>
      this.#http.data('POST', `/refunds/${idOf(refund)}/confirm`, { ...options, body: { transaction } }),
  };

  paymentRoutes(options?: Cancellable): Promise<Api.PaymentRoute[]> {
    return this.#http.data('GET', '/payment-routes', options);
  }

  readonly receipts = {
    list: (query?: Api.ReceiptQuery, options?: Cancellable): Promise<Api.Page<Api.Receipt>> =>
      this.#http.page('/receipts', query, options?.signal),

    all: (query?: Api.ReceiptQuery, options?: Cancellable): AsyncGenerator<Api.Receipt> =>
      this.#http.all('/receipts', query, options?.signal),

    get: (receipt: Identified, options?: Cancellable): Promise<Api.ReceiptDetail> =>
      this.#http.data('GET', `/receipts/${idOf(receipt)}`, options),

    /** The proof is signed by the marketplace and checked with the keys at `/.well-known/jwks.json`. */
    proof: (receipt: Identified, options?: Cancellable): Promise<Api.ReceiptProof> =>
      this.#http.data('GET', `/receipts/${idOf(receipt)}/proof`, options),
  };

  /** Subscribes to a listing. For a paid one it pays once and waits until the payment is final. */
  subscribe(listing: PricedListing, options: SubscribeOptions = {}): Promise<Api.Subscription> {
    return subscribe(
      { http: this.#http, clock: this.#options.clock ?? systemClock, store: this.#payments },
      listing,
      options,
    );
  }

  readonly subscriptions = subscriptionOperations(() => this.#http);

  /** Payments of subscriptions; calls are paid by `call`. */
  readonly payments = paymentOperations(() => this.#http);

  readonly reviews = {
    list: (listing: Identified, query?: Api.PageQuery, options?: Cancellable): Promise<Api.Page<Api.Review>> =>
      this.#http.page(`/reviews/${idOf(listing)}`, query, options?.signal),

    create: (listing: Identified, body: Api.CreateReview, options?: Cancellable): Promise<Api.Review> =>
      this.#http.data('POST', `/reviews/${idOf(listing)}`, { ...options, body }),
  };

  /** The profile of an agent, what it sells, and the quality of its calls. */
  agent(agent: Identified, options?: Cancellable): Promise<Api.Agent> {
    return this.#http.data('GET', `/agents/${idOf(agent)}`, options);
  }

  score(agent: Identified, options?: Cancellable): Promise<Api.AgentScore> {
    return this.#http.data('GET', `/agents/${idOf(agent)}/score`, options);
  }

  /** Works only in a marketplace in sandbox mode. */
  readonly sandbox = {
    pay: (
      relayRequestId: string,
      { outcome, signal }: Cancellable & { outcome?: Api.SandboxOutcome } = {},
    ): Promise<Api.SandboxPayment> =>
      this.#http.data('POST', `/sandbox/payments/${encodeURIComponent(relayRequestId)}/pay`, {
        signal,
        body: { outcome },
      }),
  };
}
