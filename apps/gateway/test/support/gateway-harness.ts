import { topology, type InputOf, type OutputOf, type Principal, type RequestOf } from '@market/contracts';
import type { Offering } from '@market/contracts/catalog';
import { executeCall, listGatewayRequests, provisionEndpoint, updateEndpoint } from '@market/contracts/gateway';
import { paySandbox } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { inProcessTransport, MessageBus, newRequestContext, Refusal, type RequestContext } from '@market/messaging';
import { paymentsLedger } from '@market/payments-ledger';
import { runProcess } from '@market/runtime';
import { freshDatabase, startPostgresProxy, type FreshDatabase, type PostgresProxy } from '@market/testing';
import { randomBytes } from 'node:crypto';
import { paymentsLedgerDatabase } from '../../../payments-ledger/src/database.js';
import { watchBooks } from '../../../payments-ledger/test/support/books-watch.js';
import { startFakeWallets } from './fake-wallets.js';
import { gatewayDatabase } from '../../src/database.js';
import { gateway } from '../../src/service.js';
import { startFakeCatalog, type FakeCatalog } from './fake-catalog.js';
import { faultyTransport, type FaultyTransport } from './faulty-transport.js';
import { startSeller, type Behaviour, type TestSeller } from './test-seller.js';

export type Outcome = OutputOf<typeof executeCall>;
export type Answered = Extract<Outcome, { outcome: 'answered' }>;
type PaymentRequired = Extract<Outcome, { outcome: 'payment_required' }>;
export type HistoryEntry = OutputOf<typeof listGatewayRequests>['items'][number];
export type CallOptions = Partial<Omit<InputOf<typeof executeCall>, 'listingRef' | 'body'>> & {
  ref?: string;
  key?: string;
  budgetMs?: number;
  traceparent?: string;
};

/** A listing with its seller's endpoint. */
export interface Shop {
  offering: Offering;
  seller: TestSeller;
  /** The secret that the seller got when the endpoint was created. */
  secret: string;
}

/** The result of a gateway call, with `seller_response` as JSON.parse reads it. */
export interface GatewayResult {
  request_id: string;
  billable: boolean;
  charged_amount: { amount_cents: number; currency: string };
  fees: { fee_rate: number; fee_amount_cents: number; seller_receives_cents: number };
  seller_status_code: number;
  seller_response: unknown;
  error?: { reason: string };
  recovery?: { next_action: string; keep: string[]; retry_until?: string };
}

/** Runs gateway and ledger on their own databases, with a fake catalog and real sellers on loopback. */
export interface GatewayHarness {
  transport: FaultyTransport;
  catalog: FakeCatalog;
  db: FreshDatabase;
  ledger: FreshDatabase;
  edge: MessageBus;
  open(offering?: Partial<Offering>, behaviour?: Behaviour): Promise<Shop>;
  call(buyer: string, shop: Shop, body?: string, options?: CallOptions): Promise<Outcome>;
  quote(buyer: string, shop: Shop, body?: string, options?: CallOptions): Promise<PaymentRequired>;
  pay(buyer: string, relayRequestId: string, outcome?: InputOf<typeof paySandbox>['outcome']): Promise<void>;
  /** Gets a quote and pays it. @returns the relay request id. */
  buy(buyer: string, shop: Shop, body?: string, options?: CallOptions): Promise<string>;
  answer(buyer: string, shop: Shop, body: string | undefined, options: CallOptions): Promise<Answered>;
  configure(shop: Shop, changes: Omit<RequestOf<typeof updateEndpoint>, 'listing_id'>): Promise<void>;
  history(
    who: string,
    filter?: Partial<RequestOf<typeof listGatewayRequests>>,
  ): Promise<OutputOf<typeof listGatewayRequests>>;
  paymentOf(relayRequestId: string): Promise<{ state: string; retry_until: Date | null }>;
  /** The number of charges for one payment. */
  chargesOf(relayRequestId: string): Promise<number>;
  /**
   * Cuts a process of the gateway off from its locks until the returned function is called. It loses them within two
   * seconds. Processes are counted from 0.
   */
  cutLocks(replica: number): () => void;
  stop(): Promise<void>;
}

export interface GatewayOptions {
  env?: Record<string, string>;
  /** The number of processes of the gateway on the one database. */
  replicas?: number;
}

export const BODY = '{"city":"Zürich","days":3}';

export async function startGateway({ env = {}, replicas = 1 }: GatewayOptions = {}): Promise<GatewayHarness> {
  const [db, ledger] = [await freshDatabase(gatewayDatabase), await freshDatabase(paymentsLedgerDatabase)];
  const books = await watchBooks(ledger);
  const transport = faultyTransport(inProcessTransport());
  const environment = {
    GATEWAY_DATABASE_URL: db.url,
    PAYMENTS_LEDGER_DATABASE_URL: ledger.url,
    DATABASE_LOCK_URL: db.url,
    ENCRYPTION_KEYS: `test:${randomBytes(32).toString('base64')}`,
    PAYMENTS_LEDGER_SIGNING_KEYS: randomBytes(32).toString('base64'),
    ALLOW_PRIVATE_ENDPOINTS: 'true',
    PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '600000',
    PAYMENTS_LEDGER_RESUME_INTERVAL_MS: '600000',
    GATEWAY_RESUME_INTERVAL_MS: '600000',
    GATEWAY_PROBE_INTERVAL_MS: '600000',
    LOG_LEVEL: 'fatal',
    ...env,
  };
  const processes = [await runProcess([paymentsLedger], transport, environment)];
  const proxies: PostgresProxy[] = [];
  for (let replica = 0; replica < replicas; replica += 1) {
    const proxy = await startPostgresProxy(db.url);
    proxies.push(proxy);
    processes.push(await runProcess([gateway], transport, { ...environment, DATABASE_LOCK_URL: proxy.url }));
  }
  const catalog = await startFakeCatalog(transport);
  const wallets = await startFakeWallets(transport);
  const edge = new MessageBus(await transport.connect('api-gateway', topology['api-gateway']), topology['api-gateway']);
  const sellers: TestSeller[] = [];

  const harness: GatewayHarness = {
    transport,
    catalog,
    db,
    ledger,
    edge,
    async open(offering, behaviour) {
      const seller = await startSeller(behaviour);
      sellers.push(seller);
      const listingId = newId();
      const sold: Offering = {
        listingId,
        slug: `shop-${listingId.slice(-12)}`,
        name: 'Weather',
        sellerId: newId(),
        status: 'active',
        pricingModel: 'per_call',
        priceMicros: '250000',
        preferredCurrency: 'USDC',
        category: null,
        ...offering,
      };
      catalog.offer(sold);
      const { signingSecret } = await catalog.bus.request(
        provisionEndpoint,
        { listingId, sellerId: sold.sellerId, url: seller.url },
        newRequestContext(),
      );
      return { offering: sold, seller, secret: signingSecret! };
    },
    call: (buyer, shop, body = BODY, { ref = shop.offering.listingId, key, budgetMs, traceparent, ...input } = {}) =>
      edge.request(
        executeCall,
        { listingRef: ref, body, ...input },
        as(buyer, { idempotency: key === undefined ? undefined : { key, fingerprint: '' }, budgetMs, traceparent }),
      ),
    async quote(buyer, shop, body, options) {
      return expectOutcome(await harness.call(buyer, shop, body, options), 'payment_required');
    },
    async pay(buyer, relayRequestId, outcome) {
      await edge.request(paySandbox, { relay_request_id: relayRequestId, outcome }, as(buyer));
    },
    async buy(buyer, shop, body, options) {
      const { payment } = await harness.quote(buyer, shop, body, options);
      await harness.pay(buyer, payment.relay_request_id);
      return payment.relay_request_id;
    },
    async answer(buyer, shop, body, options) {
      return expectOutcome(await harness.call(buyer, shop, body, options), 'answered');
    },
    async configure({ offering }, changes) {
      await edge.request(updateEndpoint, { listing_id: offering.listingId, ...changes }, as(offering.sellerId));
    },
    async history(who, filter) {
      const ask = () => edge.request(listGatewayRequests, { page: 1, limit: 20, ...filter }, as(who));
      // Requests alternate between the processes, and each writes what it has not written yet when it is asked.
      for (let replica = 1; replica < replicas; replica += 1) await ask();
      return ask();
    },
    async paymentOf(relayRequestId) {
      const [row] = await ledger.inspect<{ state: string; retry_until: Date | null }>(
        'SELECT state, retry_until FROM payments_ledger.payments WHERE relay_request_id = $1',
        [relayRequestId],
      );
      return row!;
    },
    async chargesOf(relayRequestId) {
      const rows = await ledger.inspect(
        `SELECT 1 FROM payments_ledger.journal_transactions t JOIN payments_ledger.payments p ON p.id = t.payment_id
         WHERE p.relay_request_id = $1 AND t.reason = 'call_completed'`,
        [relayRequestId],
      );
      return rows.length;
    },
    cutLocks: (replica) => proxies[replica]!.cut(),
    /** Checks that the books balance, whatever the tests did. */
    async stop() {
      try {
        await books.reconcile();
      } finally {
        await Promise.all(processes.reverse().map((process) => process.stop()));
        await Promise.all([catalog.stop(), wallets.stop(), ...proxies.map((proxy) => proxy.stop())]);
        await Promise.all(sellers.map((seller) => seller.stop()));
        await Promise.all([db.drop(), ledger.drop()]);
      }
    },
  };
  return harness;
}

export function as(accountId: string, values: Partial<RequestContext> & { budgetMs?: number } = {}): RequestContext {
  const principal: Principal = {
    accountId,
    accountType: 'agent',
    role: 'both',
    displayName: 'Ada',
    keyId: accountId,
    scopes: ['read', 'write', 'subscribe'],
  };
  return newRequestContext({ principal, ...values, budgetMs: values.budgetMs ?? 60_000 });
}

export function expectOutcome<O extends Outcome['outcome']>(
  outcome: Outcome,
  expected: O,
): Extract<Outcome, { outcome: O }> {
  if (outcome.outcome !== expected) throw new Error(`expected ${expected} and got ${JSON.stringify(outcome)}`);
  return outcome as Extract<Outcome, { outcome: O }>;
}

export const resultOf = ({ dataJson }: Answered): GatewayResult => JSON.parse(dataJson) as GatewayResult;

/** Returns the refusal; fails if there is another outcome. */
export async function refusalOf(outcome: Promise<unknown>): Promise<Refusal> {
  const error = await outcome.then(
    (value) => new Error(`it was not refused: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (error instanceof Refusal) return error;
  throw error;
}

export const reasonOf = async (outcome: Promise<unknown>): Promise<string> => (await refusalOf(outcome)).reason;
