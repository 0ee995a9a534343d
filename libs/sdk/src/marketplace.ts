import { LogicalCall, type CallContext, type CallOptions, type CallResult } from './call.js';
import { systemClock, type Clock } from './clock.js';
import { HttpClient, idempotency, idOf, listedPriceOf } from './http.js';
import type { Cancellable, HttpAnswer, Identified, Method, PricedListing, RequestOptions } from './http.js';
import { claimAgent, openSession, proveWallet, recoverAccount, Wallets } from './identity.js';
import { RecentPayments, type PaymentStore } from './payer.js';
import { solveProofOfWork, type ProofOfWorkOptions } from './proof-of-work.js';
import { paymentOperations, subscribe, subscriptionOperations, type SubscribeOptions } from './subscriptions.js';
import type * as Api from './types.js';
import type { Wallet } from './wallets.js';

export interface MarketplaceOptions {
  /** With or without `/api/v1` at its end. */
  baseUrl: string;
  apiKey?: string;
  /** An `authorization_header` as registration returned it; wins over `apiKey`. */
  authorization?: string;
  fetch?: typeof fetch;
  /** Bounds every single HTTP request; a minute by default. */
  timeoutMs?: number;
  /** Cancels everything this client does. */
  signal?: AbortSignal;
  clock?: Clock;
  /** What was paid; by default this process remembers it, and nobody after it. */
  payments?: PaymentStore;
}

const DEFAULT_TIMEOUT_MS = 60_000;

/**
 * The marketplace as one agent sees it. What it refuses and what gets lost on the way is thrown as `MarketplaceError`;
 * only `call` and `subscribe` repeat requests.
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

  /** Any request, its answer as it came, whatever the status. */
  send(method: Method, path: string, options?: RequestOptions): Promise<HttpAnswer> {
    return this.#http.send(method, path, options);
  }

  /** Any request; the `data` of its success, or a `MarketplaceError`. */
  request<T = unknown>(method: Method, path: string, options?: RequestOptions): Promise<T> {
    return this.#http.data<T>(method, path, options);
  }

  health(options?: Cancellable): Promise<Api.Health> {
    return this.#http.data('GET', '/health', options);
  }

  challenge(body: Api.ChallengeRequest, options?: Cancellable): Promise<Api.Challenge> {
    return this.#http.data('POST', '/auth/challenge', { ...options, body });
  }

  /** Proves the wallet, pays with work, registers; the new client acts with the key just issued. */
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

  /** A fresh key for an agent that lost its own; the new client acts with it. */
  async recover(
    wallet: Wallet,
    options: ProofOfWorkOptions & { revokeExisting?: boolean } = {},
  ): Promise<{ marketplace: Marketplace; recovery: Api.RecoveredAccount }> {
    const recovery = await recoverAccount(this.#http, wallet, options);
    return { marketplace: this.authorizedBy(recovery.authorization_header), recovery };
  }

  /** Signs a human operator in, whose account the first time opens; the new client acts for that human. */
  async signIn(wallet: Wallet, options: Cancellable = {}): Promise<{ marketplace: Marketplace; session: Api.Session }> {
    const session = await openSession(this.#http, wallet, options);
    return { marketplace: this.authorizedBy(`Bearer ${session.session_token}`), session };
  }

  /** Ends the session this client acts with. */
  signOut(options?: Cancellable): Promise<{ ended: true }> {
    return this.#http.data('DELETE', '/auth/session', options);
  }

  /** Claims an agent for the human this client acts for. */
  claim(agent: Identified, agentWallet: Wallet, options: Cancellable = {}): Promise<Api.Claim> {
    return claimAgent(this.#http, agent, agentWallet, options);
  }

  /** The same client with another credential, sent exactly as given. */
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

    /** With its budget, and what is spent and left of it. */
    get: (key: Identified, options?: Cancellable): Promise<Api.ApiKeyDetail> =>
      this.#http.data('GET', `/api-keys/${idOf(key)}`, options),

    update: (key: Identified, changes: Api.UpdateApiKey, options?: Cancellable): Promise<Api.ApiKeyDetail> =>
      this.#http.data('PATCH', `/api-keys/${idOf(key)}`, { ...options, body: changes }),

    revoke: (key: Identified, options?: Cancellable): Promise<Api.RevokedApiKey> =>
      this.#http.data('DELETE', `/api-keys/${idOf(key)}`, options),
  };

  /** What all keys of the agent may spend together. */
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

    /** Solves the listing's proof of work, then creates it. */
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

    remove: (listing: Identified, options?: Cancellable): Promise<Api.RemovedListing> =>
      this.#http.data('DELETE', `/listings/${idOf(listing)}`, options),
  };

  /** The private endpoint behind one's own per_call listing. */
  readonly endpoint = {
    get: (listing: Identified, options?: Cancellable): Promise<Api.Endpoint> =>
      this.#http.data('GET', `/listings/${idOf(listing)}/endpoint`, options),

    update: (listing: Identified, body: Api.UpdateEndpoint, options?: Cancellable): Promise<Api.Endpoint> =>
      this.#http.data('PUT', `/listings/${idOf(listing)}/endpoint`, { ...options, body }),

    test: (listing: Identified, options?: Cancellable): Promise<Api.EndpointTest> =>
      this.#http.data('POST', `/listings/${idOf(listing)}/endpoint/test`, options),

    /** Both secrets sign the calls while they overlap (seconds, a day by default). */
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
   * Calls a per_call listing: pays once if it must, waits while the payment is being confirmed and through outages and
   * limits, and repeats a request whose answer was lost, on the same payment. A `MarketplaceError` after paying carries the `relayRequestId` to
   * resume with. A client without a key calls without an account, which `x402Payer` alone can pay for.
   */
  call<T = unknown>(listing: PricedListing, body: object, options: CallOptions = {}): Promise<CallResult<T>> {
    const context: CallContext = {
      http: this.#http,
      clock: this.#options.clock ?? systemClock,
      store: this.#payments,
      path: `/${this.#http.hasCredential ? 'gateway' : 'x402'}/${idOf(listing)}`,
      body: JSON.stringify(body),
      listedPriceUsd: listedPriceOf(listing),
    };
    return new LogicalCall<T>(context, options).run();
  }

  readonly gatewayRequests = {
    list: (query?: Api.GatewayRequestQuery, options?: Cancellable): Promise<Api.Page<Api.GatewayRequest>> =>
      this.#http.page('/gateway-requests', query, options?.signal),

    all: (query?: Api.GatewayRequestQuery, options?: Cancellable): AsyncGenerator<Api.GatewayRequest> =>
      this.#http.all('/gateway-requests', query, options?.signal),

    get: (request: Identified, options?: Cancellable): Promise<Api.GatewayRequest> =>
      this.#http.data('GET', `/gateway-requests/${idOf(request)}`, options),
  };

  readonly ledger = {
    list: (query?: Api.LedgerQuery, options?: Cancellable): Promise<Api.Page<Api.LedgerEntry>> =>
      this.#http.page('/ledger', query, options?.signal),

    all: (query?: Api.LedgerQuery, options?: Cancellable): AsyncGenerator<Api.LedgerEntry> =>
      this.#http.all('/ledger', query, options?.signal),
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

    /** Signed by the marketplace; checked with the keys at `/.well-known/jwks.json`. */
    proof: (receipt: Identified, options?: Cancellable): Promise<Api.ReceiptProof> =>
      this.#http.data('GET', `/receipts/${idOf(receipt)}/proof`, options),
  };

  /** Subscribes to a listing; of a paid one pays once, and waits until the payment is final. */
  subscribe(listing: PricedListing, options: SubscribeOptions = {}): Promise<Api.Subscription> {
    return subscribe(
      { http: this.#http, clock: this.#options.clock ?? systemClock, store: this.#payments },
      listing,
      options,
    );
  }

  readonly subscriptions = subscriptionOperations(() => this.#http);

  /** What subscriptions are paid with; calls are paid by `call`. */
  readonly payments = paymentOperations(() => this.#http);

  readonly reviews = {
    list: (listing: Identified, query?: Api.PageQuery, options?: Cancellable): Promise<Api.Page<Api.Review>> =>
      this.#http.page(`/reviews/${idOf(listing)}`, query, options?.signal),

    create: (listing: Identified, body: Api.CreateReview, options?: Cancellable): Promise<Api.Review> =>
      this.#http.data('POST', `/reviews/${idOf(listing)}`, { ...options, body }),
  };

  score(agent: Identified, options?: Cancellable): Promise<Api.AgentScore> {
    return this.#http.data('GET', `/agents/${idOf(agent)}/score`, options);
  }

  /** Only where the marketplace runs in sandbox mode. */
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
