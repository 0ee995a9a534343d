import { Logger } from '@nestjs/common';
import { UnavailableError } from '@market/kernel';
import { keep, SpanKind, traceStep, type Span } from '@market/tracing';
import driver, { Client, type Pool, type PoolClient } from 'pg';
import { DataSource, type MigrationInterface } from 'typeorm';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { asUnavailable, codeOf, isRetryable } from './database-error.js';
import { lostTransactions, openDatabases, operationSeconds } from './metrics.js';
import { nameOfCause, Outage, READ_ONLY } from './outage.js';
import { sql, type Statement } from './statement.js';

/** The definition of a service's database, shared by tests, migrations and processes. */
export interface DatabaseDefinition {
  schema: string;
  migrations: (new () => MigrationInterface)[];
  /** PostgreSQL settings for the connections of this service. They override those of every connection. */
  settings?: Record<string, string>;
  /** A statement that follows each run of the migrations: it makes what not every PostgreSQL can have, if it is missing. */
  whereAvailable?: string;
}

export interface DatabaseOptions {
  url: string;
  poolSize?: number;
  statementTimeoutMs?: number;
  /** Additional PostgreSQL settings for these connections. */
  settings?: Record<string, string>;
  /**
   * `transaction` behind a pooler that gives each transaction another connection (PgBouncer's `pool_mode=transaction`):
   * settings are then made in each transaction, in the same packet, and statements are not prepared.
   */
  pooling?: Pooling;
}

export type Pooling = 'session' | 'transaction';

/** One open transaction. Statements that are sent without waiting for each other share one round trip. */
export interface Tx {
  query<Row>(statement: Statement, values?: unknown[]): Promise<Row[]>;
  /**
   * Sends a statement without waiting for it. If it fails, the transaction fails at its commit. The rows of the last
   * statements may be awaited after the commit, with which they share a round trip.
   */
  send<Row>(statement: Statement, values?: unknown[]): { rows: Promise<Row[]> };
  /** Runs after a successful commit. An error that it throws is only logged. */
  afterCommit(action: () => void): void;
}

const ATTEMPTS = 4;

const DEADLOCK = '40P01';

const ignore = (): void => undefined;

/**
 * These errors are expected: a violated constraint means that a row exists already, and deadlocks and serialization
 * failures are retried.
 */
const isOrdinary = (sqlState: string): boolean => /^(23|40)/.test(sqlState);

/** PostgreSQL's error code if the `role` setting of a connection names a role that does not exist. */
const INVALID_PARAMETER_VALUE = '22023';

const ping = sql('database.ping', "SELECT current_setting('transaction_read_only') = 'on' AS is_read_only");

/** PostgreSQL's error code for a statement that follows a failed one in its transaction. */
const IN_FAILED_TRANSACTION = '25P02';

export class NeverMigrated extends Error {
  constructor(schema: string, options?: ErrorOptions) {
    super(
      `the schema ${schema} was never made in this database: run \`market-admin migrate\` with the URL that is used here`,
      options,
    );
  }
}

/** The role that has a service's grants. It cannot log in. */
export const roleOf = (schema: string): string => `market_${schema}`;

/**
 * A connection that has its settings before its first statement. They are not startup parameters, which poolers such as
 * PgBouncer refuse.
 */
const clientWith = (settings: unknown[]): typeof Client =>
  class extends Client {
    override connect(): Promise<Client>;
    override connect(callback: (error: Error | null, client: Client) => void): void;
    override connect(callback?: (error: Error | null, client: Client) => void): Promise<Client> | void {
      // The pool listens for errors only later, and the statement reports a connection that is lost before. An error to
      // which nobody listens would end the process.
      this.on('error', ignore);
      const connected = super.connect().then(async () => {
        await this.query(setConfig(false), settings);
        return this as Client;
      });
      if (!callback) return connected;
      connected.then(
        () => callback(null, this),
        (error: Error) =>
          void this.end()
            .then(ignore, ignore)
            .then(() => callback(error, this)),
      );
    }
  } as typeof Client;

/** @param isLocal whether the settings end with their transaction. */
const setConfig = (isLocal: boolean): string =>
  `SELECT set_config(name, value, ${isLocal}) FROM json_each_text($1) AS settings (name, value)`;

/** Sends all data of this turn of the event loop in one packet, because each write to a socket wakes the server. */
function inOnePacket(client: PoolClient): PoolClient {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  stream.cork();
  process.nextTick(() => stream.uncork());
  return client;
}

/** A service's own schema, accessed as the service's own role. */
export class Database {
  private readonly logger = new Logger('Database');

  private constructor(
    private readonly definition: DatabaseDefinition,
    private readonly options: DatabaseOptions,
    /** The settings of each transaction; null if connections keep them. */
    private readonly localSettings: unknown[] | null,
    /** Direct access to the schema. Services read and write with the methods below. */
    readonly dataSource: DataSource,
    private readonly pool: Pool,
    private readonly outage: Outage,
  ) {}

  static async open(
    definition: DatabaseDefinition,
    options: DatabaseOptions,
    outage = new Outage(definition.schema),
  ): Promise<Database> {
    const { schema } = definition;
    const settings = {
      role: roleOf(schema),
      search_path: `${schema},public`,
      statement_timeout: options.statementTimeoutMs ?? 15_000,
      idle_in_transaction_session_timeout: 30_000,
      timezone: 'UTC',
      ...definition.settings,
      ...options.settings,
    };
    const values = [JSON.stringify(settings)];
    const isPerTransaction = options.pooling === 'transaction';
    const dataSource = new DataSource({
      type: 'postgres',
      driver,
      url: options.url,
      schema,
      synchronize: false,
      applicationName: `market ${schema}`,
      poolErrorHandler: () => undefined,
      extra: {
        max: options.poolSize ?? 10,
        connectionTimeoutMillis: 5_000,
        keepAlive: true,
        pipeline: true,
        ...(isPerTransaction ? {} : { Client: clientWith(values) }),
      },
    });
    await dataSource.initialize().catch((error: unknown) => {
      throw codeOf(error) === INVALID_PARAMETER_VALUE ? new NeverMigrated(schema, { cause: error }) : error;
    });
    const { master } = dataSource.driver as unknown as { master: Pool };
    const database = new Database(definition, options, isPerTransaction ? values : null, dataSource, master, outage);
    if (isPerTransaction)
      await database.query(ping).catch(async (error: unknown) => {
        await dataSource.destroy();
        throw codeOf(error) === INVALID_PARAMETER_VALUE ? new NeverMigrated(schema, { cause: error }) : error;
      });
    openDatabases.add(database);
    return database;
  }

  get url(): string {
    return this.options.url;
  }

  get schema(): string {
    return this.definition.schema;
  }

  /** The connections of the pool: all, free ones, and the number of requests that wait for one. */
  get connections(): { total: number; idle: number; waiting: number } {
    const { totalCount: total, idleCount: idle, waitingCount: waiting } = this.pool;
    return { total, idle, waiting };
  }

  /** Opens a second pool with its own size, so that neither pool waits for the other. The caller closes it. */
  openPool(options: Omit<DatabaseOptions, 'url'>): Promise<Database> {
    const { url, pooling } = this.options;
    return Database.open(this.definition, { url, pooling, ...options }, this.outage);
  }

  /** Runs one prepared statement in its own implicit transaction. After a deadlock it is retried. */
  async query<Row>(statement: Statement, values: unknown[] = []): Promise<Row[]> {
    return this.localSettings === null
      ? this.retrying(() => this.run<Row>(this.pool, statement, values))
      : this.transaction(async (tx) => tx.send<Row>(statement, values).rows);
  }

  /** Runs `work` in one transaction. After a deadlock or serialization failure all of it is retried, a few times. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.retrying(() => this.runOnce(work));
  }

  /** Whether statements fail because of PostgreSQL. */
  get isAway(): boolean {
    return this.outage.isOngoing;
  }

  /** @returns why the service cannot do its work with PostgreSQL, in words that may be shown; null if it can. */
  async problem(): Promise<string | null> {
    try {
      const [row] = await this.query<{ is_read_only: boolean }>(ping);
      return this.outage.blockedBecause ?? (row!.is_read_only ? READ_ONLY : null);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      return nameOfCause(error.cause);
    }
  }

  async close(): Promise<void> {
    openDatabases.delete(this);
    await this.dataSource.destroy();
  }

  private run<Row>(through: Pool | PoolClient, { name, text }: Statement, values: unknown[]): Promise<Row[]> {
    return this.timed(name ?? 'batch', async (span) => {
      // A statement is prepared on one connection, and the next transaction may have another.
      const prepared = this.localSettings === null ? { name } : {};
      const { rows, rowCount, command } = await through.query({ ...prepared, text, values });
      // A run of a job that only reads is not worth a trace.
      if (span && rowCount && command !== 'SELECT') keep(span);
      return rows as Row[];
    });
  }

  private timed<T>(db_operation_name: string, work: (span?: Span) => Promise<T>): Promise<T> {
    const stop = operationSeconds.startTimer({ db_namespace: this.definition.schema, db_operation_name });
    return traceStep(db_operation_name, SpanKind.Client, async (span) => {
      span?.set({ 'db.system.name': 'postgresql', 'db.namespace': this.definition.schema });
      try {
        const result = await work(span);
        stop({ error_type: '' });
        return result;
      } catch (error) {
        const error_type = codeOf(error) ?? 'other';
        stop({ error_type });
        if (!isOrdinary(error_type)) span?.fail(error_type);
        throw error;
      }
    });
  }

  private async retrying<T>(attempt: () => Promise<T>): Promise<T> {
    for (let count = 1; ; count += 1) {
      try {
        const result = await attempt();
        this.outage.worked();
        return result;
      } catch (error) {
        if (!isRetryable(error)) throw this.named(error);
        this.logger.warn(`${this.nameOf(error)}, attempt ${count} of ${ATTEMPTS}`);
        if (count >= ATTEMPTS) throw asUnavailable(error);
        await delay(Math.random() * 10 * 2 ** count);
      }
    }
  }

  private named(error: unknown): unknown {
    const named = asUnavailable(error);
    if (named !== error) this.outage.failed(error);
    return named;
  }

  /** Counts a lost transaction, and names what it lost to. PostgreSQL's detail has the ids of processes and no values. */
  private nameOf(error: unknown): string {
    const kind = codeOf(error) === DEADLOCK ? 'deadlock' : 'serialization_failure';
    lostTransactions.inc({ db_namespace: this.definition.schema, kind });
    return `${kind} in ${this.definition.schema}: ${(error as { where?: string }).where ?? (error as Error).message}`;
  }

  private async runOnce<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    // An error that breaks the connection also rejects the pending statement.
    client.on('error', ignore);
    const sent: Promise<unknown>[] = [];
    const actions: (() => void)[] = [];
    let isOpen = false;
    let broken: Error | void = undefined;
    try {
      // It is sent together with the first statement, which saves a round trip.
      const begun = inOnePacket(client).query('BEGIN');
      begun.catch(ignore);
      sent.push(begun);
      if (this.localSettings) {
        const set = inOnePacket(client).query(setConfig(true), this.localSettings);
        set.catch(ignore);
        sent.push(set);
      }
      isOpen = true;
      const result = await work({
        query: async <Row>(statement: Statement, values: unknown[] = []) => {
          const [rows] = await Promise.all([this.run<Row>(inOnePacket(client), statement, values), begun]);
          return rows;
        },
        send: <Row>(statement: Statement, values: unknown[] = []) => {
          const rows = this.run<Row>(inOnePacket(client), statement, values);
          rows.catch(ignore);
          sent.push(rows);
          return { rows };
        },
        afterCommit: (action) => actions.push(action),
      });
      isOpen = false;
      // PostgreSQL rolls back instead of committing if an earlier statement has failed.
      sent.push(this.timed('commit', () => inOnePacket(client).query('COMMIT')));
      await Promise.allSettled(sent);
      await Promise.all(sent);
      actions.forEach((action) => this.runQuietly(action));
      return result;
    } catch (error) {
      if (isOpen) broken = await client.query('ROLLBACK').then(ignore, (failure: Error) => failure);
      // After a failed statement PostgreSQL refuses those that follow, which may have been sent before the failure was known.
      if (codeOf(error) !== IN_FAILED_TRANSACTION) throw error;
      const failures = (await Promise.allSettled(sent)).flatMap((each) =>
        each.status === 'rejected' && codeOf(each.reason) !== IN_FAILED_TRANSACTION ? [each.reason as unknown] : [],
      );
      throw failures[0] ?? error;
    } finally {
      client.off('error', ignore);
      client.release(broken ?? undefined);
    }
  }

  private runQuietly(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.logger.error('an action after a commit failed', error instanceof Error ? error.stack : String(error));
    }
  }
}
