import {
  topology,
  type EventContract,
  type InputOf,
  type OutputOf,
  type PayloadOf,
  type Principal,
  type RequestContract,
  type RequestOf,
} from '@market/contracts';
import {
  listingChanged,
  listingRemoved,
  listingsOf,
  listingTouched,
  listingView,
  listingWorkSolved,
  searchListings,
  type ListingView,
} from '@market/contracts/catalog';
import { provisionEndpoint } from '@market/contracts/gateway';
import { getAgents } from '@market/contracts/identity';
import { findUnpayableSellers } from '@market/contracts/payments-ledger';
import { newId, UnavailableError } from '@market/kernel';
import {
  inProcessTransport,
  MessageBus,
  newRequestContext,
  type RequestContext,
  type EventRecord,
  type Link,
} from '@market/messaging';
import { runProcess } from '@market/runtime';
import { connectFake, createDatabase } from '@market/testing';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { catalog } from '../../src/service.js';

export const LIMITS = {
  max_request_bytes: 262_144,
  max_response_bytes: 1_048_576,
  max_file_bytes: 33_554_432,
  idle_timeout_ms: 30_000,
  stream_timeout_ms: 600_000,
  job_deadline_seconds: 3_600,
  max_concurrency: 32,
  requests_per_minute: null,
};

export interface CatalogService {
  readonly databaseUrl: string;
  /** Sends a request over the bus, as the edge and the gateway do. */
  ask<C extends RequestContract>(contract: C, input: RequestOf<C>, as?: Partial<RequestContext>): Promise<OutputOf<C>>;
  /** Returns a page of a search, and checks each item against the contract. */
  search(
    input: RequestOf<typeof searchListings>,
    as?: Partial<RequestContext>,
  ): Promise<{ items: ListingView[]; total: number }>;
  /** Delivers events as the outbox of their service does; an id that is given twice is a duplicate. */
  deliver<C extends EventContract>(contract: C, events: { id?: string; payload: PayloadOf<C> }[]): Promise<void>;
  /** The messages that the catalog has sent to other services so far. */
  readonly received: {
    changed: PayloadOf<typeof listingChanged>[];
    removed: PayloadOf<typeof listingRemoved>[];
    touched: PayloadOf<typeof listingTouched>[];
    worked: PayloadOf<typeof listingWorkSolved>[];
  };
  /** The fake gateway; a test may replace `provision`. */
  readonly gateway: {
    provisioned: InputOf<typeof provisionEndpoint>[];
    provision: (
      input: InputOf<typeof provisionEndpoint>,
    ) => OutputOf<typeof provisionEndpoint> | Promise<OutputOf<typeof provisionEndpoint>>;
  };
  readonly identity: { asked: string[] };
  /** The fake ledger; the sellers that it can pay nothing. */
  readonly ledger: { unpayable: Set<string>; isDown: boolean };
  /** Executes one statement as the owner of the tables. */
  sql<Row extends pg.QueryResultRow>(statement: string, values?: unknown[]): Promise<Row[]>;
  /** Opens a transaction for several statements. */
  transaction(): Promise<{ sql: CatalogService['sql']; commit(): Promise<void> }>;
  stop(): Promise<void>;
}

/** Starts the real catalog on an empty database, or `DATABASE_URL`, and the in-process bus, with fakes of other services. */
export async function startCatalog(env: Record<string, string> = {}): Promise<CatalogService> {
  const url = env.DATABASE_URL ?? (await createDatabase());
  const transport = inProcessTransport();
  const gateway: CatalogService['gateway'] = {
    provisioned: [],
    provision: () => ({
      signingSecret: `whsec_${randomBytes(32).toString('base64')}`,
      status: 'unverified',
      limits: LIMITS,
    }),
  };
  const identity = { asked: [] as string[] };
  const ledger: CatalogService['ledger'] = { unpayable: new Set(), isDown: false };
  const links = {
    gateway: await connectFake(transport, 'gateway', provisionEndpoint, (input) => {
      gateway.provisioned.push(input);
      return gateway.provision(input);
    }),
    identity: await connectFake(transport, 'identity', getAgents, ({ ids }) => {
      identity.asked.push(...ids);
      return { agents: ids.map(agentOf) };
    }),
    'payments-ledger': await connectFake(transport, 'payments-ledger', findUnpayableSellers, ({ sellerIds }) => {
      if (ledger.isDown) throw new UnavailableError('PostgreSQL');
      return { sellerIds: sellerIds.filter((id) => ledger.unpayable.has(id)) };
    }),
    'api-gateway': await transport.connect('api-gateway', topology['api-gateway']),
  };
  const received: CatalogService['received'] = { changed: [], removed: [], touched: [], worked: [] };
  await listen(links['api-gateway'], received);
  const running = await runProcess([catalog], transport, {
    DATABASE_URL: url,
    ENCRYPTION_KEYS: `test:${randomBytes(32).toString('base64')}`,
    LISTING_POW_DIFFICULTY: '1',
    PUBLIC_URL: 'https://market.example/',
    LOG_LEVEL: 'fatal',
    ...env,
  });
  const pool = new pg.Pool({ connectionString: url, max: 4, options: '-c search_path=catalog,public' });
  const askers = [links['api-gateway'], links.gateway].map(
    (link, index) => new MessageBus(link, topology[index === 0 ? 'api-gateway' : 'gateway']),
  );
  const ask: CatalogService['ask'] = (contract, input, as = {}) =>
    askers[topology['api-gateway'].calls.some(({ subject }) => subject === contract.subject) ? 0 : 1]!.request(
      contract,
      input,
      newRequestContext({ budgetMs: 60_000, ...as }),
    );
  return {
    databaseUrl: url,
    ask,
    async search(input, as) {
      const found = await ask(searchListings, input, as);
      return { items: listingView.strict().array().parse(listingsOf(found)), total: found.total };
    },
    deliver: (contract, events) =>
      links.gateway.publishEvents(
        events.map(({ id, payload }) => ({
          id: id ?? newId(),
          subject: contract.subject,
          payload,
          requestId: newId(),
        })),
      ),
    received,
    gateway,
    identity,
    ledger,
    sql: async <Row extends pg.QueryResultRow>(statement: string, values?: unknown[]) =>
      (await pool.query<Row>(statement, values)).rows,
    async transaction() {
      const client = await pool.connect();
      await client.query('BEGIN');
      return {
        sql: async <Row extends pg.QueryResultRow>(statement: string, values?: unknown[]) =>
          (await client.query<Row>(statement, values)).rows,
        async commit() {
          await client.query('COMMIT');
          client.release();
        },
      };
    },
    async stop() {
      await pool.end();
      await running.stop();
    },
  };
}

async function listen(link: Link, received: CatalogService['received']): Promise<void> {
  const keep = <C extends EventContract>(contract: C, kept: PayloadOf<C>[]) =>
    link.consumeEvents(
      contract.subject,
      async (events: EventRecord[]) =>
        void kept.push(...events.map((event) => contract.payload.parse(event.payload) as PayloadOf<C>)),
    );
  await keep(listingChanged, received.changed);
  await keep(listingRemoved, received.removed);
  await keep(listingWorkSolved, received.worked);
  await link.onSignal(listingTouched.subject, (payload) =>
    received.touched.push(listingTouched.payload.parse(payload)),
  );
}

const agentOf = (id: string): OutputOf<typeof getAgents>['agents'][number] => ({
  id,
  display_name: `Agent ${id.slice(-4)}`,
  avatar_url: null,
  account_type: 'agent',
  is_verified: true,
});

/** A principal as the edge resolves it. */
export function principal(values: Partial<Principal> = {}): Principal {
  return {
    accountId: newId(),
    accountType: 'agent',
    role: 'both',
    displayName: 'Ada',
    keyId: newId(),
    scopes: ['read', 'write'],
    ...values,
  };
}
