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
import { getOffering, type Offering } from '@market/contracts/catalog';
import { getAgents } from '@market/contracts/identity';
import { getPurchaseEvidence } from '@market/contracts/payments-ledger';
import { listingPopularityMeasured, listingRated } from '@market/contracts/reputation';
import { newId, UnavailableError } from '@market/kernel';
import {
  inProcessTransport,
  MessageBus,
  newRequestContext,
  refuse,
  type RequestContext,
  type EventRecord,
} from '@market/messaging';
import { runCommand, runProcess } from '@market/runtime';
import { connectFake, createDatabase } from '@market/testing';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { reputation } from '../../src/service.js';

type Evidence = OutputOf<typeof getPurchaseEvidence>;

/** Fakes of the other services, which a test can change. */
interface Neighbours {
  /** By uuid and by slug. */
  readonly offerings: Map<string, Offering>;
  /** By default, every account bought a moment ago. */
  evidence: (input: InputOf<typeof getPurchaseEvidence>) => Evidence;
  /** The accounts that identity knows. */
  readonly accounts: Map<string, 'agent' | 'human'>;
}

export interface ReputationService {
  readonly neighbours: Neighbours;
  /** Sends a request over the bus, as the edge does. */
  ask<C extends RequestContract>(contract: C, input: RequestOf<C>, as?: Partial<RequestContext>): Promise<OutputOf<C>>;
  /** Delivers events as the outboxes of their services do. */
  deliver(events: EventRecord[], batch?: number): Promise<void>;
  readonly rated: PayloadOf<typeof listingRated>[];
  readonly measured: PayloadOf<typeof listingPopularityMeasured>[];
  /** Runs `market-admin <name>`. */
  command(name: string): Promise<string>;
  /** Executes one statement as the owner of the tables. */
  sql<Row extends pg.QueryResultRow>(statement: string, values?: unknown[]): Promise<Row[]>;
  stop(): Promise<void>;
}

const DERIVED_AND_FACTS =
  'call_facts, subscription_facts, registration_facts, wallet_facts, claim_facts, work_facts, fee_facts, ' +
  'reviews, listings, accounts, trades, listing_totals, inbox, outbox';

/** Empties tables, by default all, so that the same facts can be delivered again. */
export async function truncateAll(service: ReputationService, tables = DERIVED_AND_FACTS): Promise<void> {
  await service.sql(`TRUNCATE ${tables}`);
}

/** Starts the real service on an empty database and the in-process bus. */
export async function startReputation(): Promise<ReputationService> {
  const url = await createDatabase();
  const transport = inProcessTransport();
  const neighbours: Neighbours = {
    offerings: new Map(),
    evidence: () => ({ lastBillableCallAt: new Date().toISOString(), subscriptionStartedAt: null }),
    accounts: new Map(),
  };
  const emitter = await connectFake(transport, 'catalog', getOffering, ({ ref }) => {
    const offering = neighbours.offerings.get(ref);
    if (!offering) throw refuse(getOffering, 'listing_not_found', {});
    return offering;
  });
  await connectFake(transport, 'payments-ledger', getPurchaseEvidence, (input) => neighbours.evidence(input));
  await connectFake(transport, 'identity', getAgents, ({ ids }) => ({
    agents: ids
      .filter((id) => neighbours.accounts.has(id))
      .map((id) => ({
        id,
        display_name: 'Somebody',
        avatar_url: null,
        account_type: neighbours.accounts.get(id)!,
        is_verified: false,
      })),
  }));
  const edge = await transport.connect('api-gateway', topology['api-gateway']);
  const rated: PayloadOf<typeof listingRated>[] = [];
  await edge.consumeEvents(
    listingRated.subject,
    async (events) => void rated.push(...events.map((event) => listingRated.payload.parse(event.payload))),
  );
  const measured: PayloadOf<typeof listingPopularityMeasured>[] = [];
  await edge.consumeEvents(
    listingPopularityMeasured.subject,
    async (events) =>
      void measured.push(...events.map((event) => listingPopularityMeasured.payload.parse(event.payload))),
  );
  const settings = {
    REPUTATION_POPULARITY_INTERVAL_MS: '50',
    DATABASE_URL: url,
    ENCRYPTION_KEYS: `test:${randomBytes(32).toString('base64')}`,
    LOG_LEVEL: 'fatal',
  };
  const running = await runProcess([reputation], transport, settings);
  const bus = new MessageBus(edge, topology['api-gateway']);
  const pool = new pg.Pool({ connectionString: url, max: 4, options: '-c search_path=reputation,public' });
  const sql = async <Row extends pg.QueryResultRow>(statement: string, values?: unknown[]): Promise<Row[]> =>
    (await pool.query<Row>(statement, values)).rows;
  /** Publishes like the outbox, which repeats events that the consumer could not handle. */
  const publish = async (events: Parameters<typeof emitter.publishEvents>[0], attempt = 1): Promise<void> => {
    try {
      await emitter.publishEvents(events);
    } catch (error) {
      if (!(error instanceof UnavailableError) || attempt === 5) throw error;
      await publish(events, attempt + 1);
    }
  };
  return {
    neighbours,
    ask: (contract, input, as = {}) => bus.request(contract, input, newRequestContext({ budgetMs: 60_000, ...as })),
    async deliver(events, batch = 500) {
      for (let from = 0; from < events.length; from += batch) await publish(events.slice(from, from + batch));
    },
    rated,
    measured,
    command: (name) =>
      runCommand(
        reputation,
        reputation.commands!.find((command) => command.name === name)!,
        { operator: 'test', arguments: [], options: {} },
        settings,
      ),
    sql,
    async stop() {
      await pool.end();
      await running.stop();
    },
  };
}

export const eventOf = <C extends EventContract>(contract: C, payload: PayloadOf<C>, id = newId()): EventRecord => ({
  id,
  subject: contract.subject,
  payload,
  requestId: id,
});

/** A principal as the edge resolves it. */
export const principal = (accountId: string, values: Partial<Principal> = {}): Principal => ({
  accountId,
  accountType: 'agent',
  role: 'both',
  displayName: 'Ada',
  keyId: newId(),
  scopes: ['read', 'write'],
  ...values,
});
