import { Logger } from '@nestjs/common';
import { keep, SpanKind, traceStep, type Span } from '@market/tracing';
import type { Pool, PoolClient } from 'pg';
import { DataSource, type MigrationInterface } from 'typeorm';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { asUnavailable, codeOf, isRetryable } from './database-error.js';
import { openDatabases, operationSeconds } from './metrics.js';
import type { Statement } from './statement.js';

/** The definition of a service's database, shared by tests, migrations and processes. */
export interface DatabaseDefinition {
  schema: string;
  migrations: (new () => MigrationInterface)[];
  /** PostgreSQL settings for the connections of this service. They override those of every connection. */
  settings?: Record<string, string>;
}

export interface DatabaseOptions {
  url: string;
  poolSize?: number;
  statementTimeoutMs?: number;
  /** Additional PostgreSQL settings for these connections. */
  settings?: Record<string, string>;
}

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

const ignore = (): void => undefined;

/**
 * These errors are expected: a violated constraint means that a row exists already, and deadlocks and serialization
 * failures are retried.
 */
const isOrdinary = (sqlState: string): boolean => /^(23|40)/.test(sqlState);

/** PostgreSQL's error code if the `role` setting of a connection names a role that does not exist. */
const INVALID_PARAMETER_VALUE = '22023';

/** PostgreSQL's error code for a statement that follows a failed one in its transaction. */
const IN_FAILED_TRANSACTION = '25P02';

export class NeverMigrated extends Error {
  constructor(schema: string, options?: ErrorOptions) {
    super(
      `the schema ${schema} was never made in this database: run \`npm run migrate\` with the URL that is used here`,
      options,
    );
  }
}

/** The role that has a service's grants. It cannot log in. */
export const roleOf = (schema: string): string => `market_${schema}`;

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
    private readonly url: string,
    /** Direct access to the schema. Services read and write with the methods below. */
    readonly dataSource: DataSource,
    private readonly pool: Pool,
  ) {}

  static async open(definition: DatabaseDefinition, options: DatabaseOptions): Promise<Database> {
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
    const dataSource = new DataSource({
      type: 'postgres',
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
        options: Object.entries(settings)
          .map(([name, value]) => `-c ${name}=${value}`)
          .join(' '),
      },
    });
    await dataSource.initialize().catch((error: unknown) => {
      throw codeOf(error) === INVALID_PARAMETER_VALUE ? new NeverMigrated(schema, { cause: error }) : error;
    });
    const { master } = dataSource.driver as unknown as { master: Pool };
    const database = new Database(definition, options.url, dataSource, master);
    openDatabases.add(database);
    return database;
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
    return Database.open(this.definition, { url: this.url, ...options });
  }

  /** Runs one prepared statement in its own implicit transaction. After a deadlock it is retried. */
  async query<Row>(statement: Statement, values: unknown[] = []): Promise<Row[]> {
    return this.retrying(() => this.run<Row>(this.pool, statement, values));
  }

  /** Runs `work` in one transaction. After a deadlock or serialization failure all of it is retried, a few times. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.retrying(() => this.runOnce(work));
  }

  async close(): Promise<void> {
    openDatabases.delete(this);
    await this.dataSource.destroy();
  }

  private run<Row>(through: Pool | PoolClient, { name, text }: Statement, values: unknown[]): Promise<Row[]> {
    return this.timed(name ?? 'batch', async (span) => {
      const { rows, rowCount, command } = await through.query({ name, text, values });
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
        return await attempt();
      } catch (error) {
        if (!isRetryable(error) || count >= ATTEMPTS) throw asUnavailable(error);
        await delay(Math.random() * 10 * 2 ** count);
      }
    }
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
