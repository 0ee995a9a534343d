import {
  topology,
  type Budget,
  type EventContract,
  type InputOf,
  type OutputOf,
  type PayloadOf,
  type Principal,
  type RequestOf,
} from '@market/contracts';
import type { Offering } from '@market/contracts/catalog';
import {
  authorizePayment,
  createOffer,
  getPurchaseEvidence,
  paySandbox,
  collectPayment,
  releasePayment,
  settlePayment,
} from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import {
  inProcessTransport,
  MessageBus,
  newRequestContext,
  Refusal,
  type RequestContext,
  type Transport,
} from '@market/messaging';
import { sql } from '@market/persistence';
import { runProcess } from '@market/runtime';
import { freshDatabase, type FreshDatabase } from '@market/testing';
import { createHash, randomBytes } from 'node:crypto';
import { startFakeCatalog, type FakeCatalog } from '../../../gateway/test/support/fake-catalog.js';
import { paymentsLedgerDatabase } from '../../src/database.js';
import { paymentsAndOffers, storeOffers } from '../../src/payments/payment.js';
import { paymentsLedger } from '../../src/service.js';
import { watchBooks } from './books-watch.js';
import { startFakeWallets, type FakeWallets } from '../../../gateway/test/support/fake-wallets.js';

export type Offered = OutputOf<typeof createOffer>;
export type Authorization = OutputOf<typeof authorizePayment>;
export type Authorized = Extract<Authorization, { outcome: 'authorized' }>;
export type Outcome = InputOf<typeof paySandbox>['outcome'];

/** A call that can be bought, with the data that the gateway has. */
export interface Order {
  buyer: string;
  listing: RequestOf<typeof createOffer>['listing'];
  priceMicros: string;
  bodyDigest: string;
  /** The budgets of the key that buys. */
  budgets?: Budget[];
}

/**
 * The ledger with its own database, used through the gateway and the edge, and a catalog whose offerings the test
 * defines.
 */
export interface LedgerHarness {
  db: FreshDatabase;
  catalog: FakeCatalog;
  /** The wallets of sellers; null with a real identity service. */
  wallets: FakeWallets | null;
  gateway: MessageBus;
  edge: MessageBus;
  reputation: MessageBus;
  quote(order: Order, wish?: Partial<RequestOf<typeof createOffer>>): Promise<Offered>;
  pay(order: Order, offered: Offered, outcome?: Outcome): Promise<OutputOf<typeof paySandbox>>;
  authorize(
    order: Order,
    offered: Offered,
    changes?: Partial<RequestOf<typeof authorizePayment>>,
  ): Promise<Authorization>;
  /** Returns a call that is quoted, paid and authorized. */
  authorized(order: Order): Promise<Authorized>;
  settle(
    call: Authorized,
    changes?: Partial<RequestOf<typeof settlePayment>>,
    budgetMs?: number,
  ): Promise<OutputOf<typeof settlePayment>>;
  collect(call: Pick<Authorized, 'paymentId'>, budgetMs?: number): Promise<OutputOf<typeof collectPayment>>;
  release(
    call: Pick<Authorized, 'paymentId'>,
    changes?: Partial<RequestOf<typeof releasePayment>>,
  ): Promise<OutputOf<typeof releasePayment>>;
  stateOf(paymentId: string): Promise<string>;
  /** Returns the emitted events, oldest first. */
  received<C extends EventContract>(contract: C): Promise<PayloadOf<C>[]>;
  /** @throws if the books are inconsistent; see `watchBooks`. */
  reconcile(): Promise<void>;
  /** @throws like `reconcile`, unless `checkBooks` is false. */
  stop(options?: { checkBooks?: boolean }): Promise<void>;
}

export interface LedgerOptions {
  env?: Record<string, string>;
  /** The number of processes of the service on the same database. */
  replicas?: number;
  /** The transport on which it reaches other services, including identity. */
  transport?: Transport;
}

const stateById = sql('test.state', `SELECT state FROM ${paymentsAndOffers('p.id = $1')} p`);
const storeAll = sql('test.store-offers', `${storeOffers('offers p')} ON CONFLICT DO NOTHING`);
/** Before a test changes the row of a payment, each offer gets one, as if something had happened to it. */
const withStoredOffers = (db: FreshDatabase): FreshDatabase => ({
  ...db,
  async inspect(statement, values) {
    if (/(UPDATE|INSERT INTO) payments_ledger\.payments/.test(statement)) await db.database.query(storeAll);
    return db.inspect(statement, values);
  },
});

export async function startLedger({
  env = {},
  replicas = 1,
  transport: given,
}: LedgerOptions = {}): Promise<LedgerHarness> {
  const transport = given ?? inProcessTransport();
  const db = withStoredOffers(await freshDatabase(paymentsLedgerDatabase));
  const books = await watchBooks(db);
  const environment = {
    DATABASE_URL: db.url,
    ENCRYPTION_KEYS: `test:${randomBytes(32).toString('base64')}`,
    PAYMENTS_LEDGER_SIGNING_KEYS: randomBytes(32).toString('base64'),
    // Nothing becomes final or expires by itself unless a test configures it.
    PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '600000',
    PAYMENTS_LEDGER_RESUME_INTERVAL_MS: '600000',
    PAYMENTS_LEDGER_SANDBOX_PENDING_SECONDS: '3600',
    LOG_LEVEL: 'fatal',
    ...env,
  };
  const processes = await Promise.all(
    Array.from({ length: replicas }, () => runProcess([paymentsLedger], transport, environment)),
  );
  const catalog = await startFakeCatalog(transport);
  const wallets = given ? null : await startFakeWallets(transport);
  const gateway = new MessageBus(await transport.connect('gateway', topology.gateway), topology.gateway);
  const edge = new MessageBus(await transport.connect('api-gateway', topology['api-gateway']), topology['api-gateway']);
  const asksForEvidence = { ...topology.reputation, calls: [getPurchaseEvidence] };
  const reputation = new MessageBus(await transport.connect('reputation', asksForEvidence), asksForEvidence);
  const harness: LedgerHarness = {
    db,
    catalog,
    wallets,
    gateway,
    edge,
    reputation,
    quote: ({ buyer, budgets, ...order }, wish) =>
      gateway.request(createOffer, { gatewayRequestId: newId(), ...order, ...wish }, as(buyer, { budgets })),
    pay: ({ buyer, budgets }, { offer }, outcome = 'paid') =>
      edge.request(paySandbox, { relay_request_id: offer.relay_request_id, outcome }, as(buyer, { budgets })),
    authorize: ({ buyer, listing, bodyDigest, budgets }, { offer }, changes) =>
      gateway.request(
        authorizePayment,
        {
          relayRequestId: offer.relay_request_id,
          listingId: listing.listingId,
          bodyDigest,
          callMs: 60_000,
          ...changes,
        },
        as(buyer, { budgets }),
      ),
    async authorized(order) {
      const offered = await harness.quote(order);
      await harness.pay(order, offered);
      return asAuthorized(await harness.authorize(order, offered));
    },
    settle: ({ paymentId, gatewayRequestId }, changes, budgetMs) =>
      gateway.request(
        settlePayment,
        {
          paymentId,
          gatewayRequestId,
          sellerStatusCode: 200,
          latencyMs: 12,
          requestDigest: digestOf('request'),
          responseDigest: digestOf('response'),
          ...changes,
        },
        newRequestContext({ budgetMs }),
      ),
    collect: ({ paymentId }, budgetMs) =>
      gateway.request(collectPayment, { paymentId }, newRequestContext({ budgetMs })),
    release: ({ paymentId }, changes) =>
      gateway.request(releasePayment, { paymentId, ...changes }, newRequestContext()),
    async stateOf(paymentId) {
      return (await db.database.query<{ state: string }>(stateById, [paymentId]))[0]!.state;
    },
    async received({ subject, payload }) {
      const rows = await db.inspect<{ payload: unknown }>(
        'SELECT payload FROM payments_ledger.outbox WHERE subject = $1 ORDER BY id',
        [subject],
      );
      return rows.map((row) => payload.parse(row.payload)) as never;
    },
    reconcile: () => books.reconcile(),
    async stop({ checkBooks = true } = {}) {
      try {
        if (checkBooks) await books.reconcile();
      } finally {
        await catalog.stop();
        await wallets?.stop();
        await Promise.all(processes.map((process) => process.stop()));
        await db.drop();
      }
    },
  };
  return harness;
}

/** The budget of a request that waits for its settlement for a second only. */
export const BRIEFLY_MS = 2_000;

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Returns an order that shares nothing with other orders, except for `changes`. */
export function newOrder(changes: Partial<Order> = {}): Order {
  const listingId = newId();
  return {
    buyer: newId(),
    listing: {
      listingId,
      name: 'Weather',
      slug: `weather-${listingId.slice(-8)}`,
      sellerId: newId(),
      preferredCurrency: 'USDC',
    },
    priceMicros: '250000',
    bodyDigest: digestOf(listingId),
    ...changes,
  };
}

/** Returns a listing that shares nothing with other listings, except for `changes`. */
export function newListing(changes: Partial<Offering> = {}): Offering {
  const listingId = newId();
  return {
    listingId,
    slug: `feed-${listingId.slice(-12)}`,
    name: 'Feed',
    sellerId: newId(),
    status: 'active',
    pricingModel: 'monthly',
    priceMicros: '9990000',
    preferredCurrency: 'USDC',
    category: null,
    ...changes,
  };
}

export function as(
  accountId: string,
  { budgets, ...values }: Partial<RequestContext> & { budgets?: Budget[] } = {},
): RequestContext {
  const principal: Principal = {
    accountId,
    accountType: 'agent',
    role: 'both',
    displayName: 'Ada',
    keyId: accountId,
    scopes: ['read', 'write', 'subscribe'],
    ...(budgets ? { budgets } : {}),
  };
  return newRequestContext({ principal, budgetMs: 30_000, ...values });
}

export function asAuthorized(authorization: Authorization): Authorized {
  if (authorization.outcome !== 'authorized')
    throw new Error(`expected an authorization and got ${JSON.stringify(authorization)}`);
  return authorization;
}

/** Returns a budget of a key, without limits except for `changes`. */
export const budgetWith = (changes: Partial<Budget> = {}): Budget => ({
  id: newId(),
  of: 'key',
  perCallMicros: null,
  perDayMicros: null,
  perMonthMicros: null,
  listings: null,
  frozen: false,
  ...changes,
});

/** Returns the reason of a refusal. Any other outcome is an error of the test. */
export async function reasonOf(outcome: Promise<unknown>): Promise<string> {
  const error = await outcome.then(
    (value) => new Error(`it was not refused: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (error instanceof Refusal) return error.reason;
  throw error;
}
