import { Counter, Gauge, Histogram } from 'prom-client';
import { sql, type Statement } from './statement.js';

/** The properties of a database that the gauges read. */
interface ObservedDatabase {
  readonly schema: string;
  readonly connections: Record<'total' | 'idle' | 'waiting', number>;
  readonly isAway: boolean;
  query<Row>(statement: Statement): Promise<Row[]>;
}

/** The open databases of this process. */
export const openDatabases = new Set<ObservedDatabase>();

/** The duration of statements by name, including the wait for a connection, and of commits. In seconds. */
export const operationSeconds = new Histogram({
  name: 'db_client_operation_duration_seconds',
  help: 'Statements and commits by schema, name and SQLSTATE (empty where they succeeded)',
  labelNames: ['db_namespace', 'db_operation_name', 'error_type'] as const,
  buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15],
});

export const lostTransactions = new Counter({
  name: 'market_transactions_lost_total',
  help: 'Transactions that a deadlock or a serialization failure rolled back, by schema and kind; most are run again',
  labelNames: ['db_namespace', 'kind'] as const,
});

export const databaseFailures = new Counter({
  name: 'market_database_failures_total',
  help: 'Statements and commits that failed because of PostgreSQL, by service and cause',
  labelNames: ['service', 'cause'] as const,
});

new Gauge({
  name: 'market_database_up',
  help: '0 while statements of a service fail because of PostgreSQL, 1 otherwise',
  labelNames: ['service'] as const,
  collect() {
    this.reset();
    for (const { schema, isAway } of openDatabases) this.set({ service: schema }, isAway ? 0 : 1);
  },
});

new Gauge({
  name: 'db_client_connection_count',
  help: 'Connections to PostgreSQL by schema and state; waiting counts requests for one',
  labelNames: ['db_namespace', 'state'] as const,
  collect() {
    this.reset();
    for (const { schema, connections } of openDatabases)
      for (const [state, count] of Object.entries(connections)) this.inc({ db_namespace: schema, state }, count);
  },
});

export const queueLengths = sql(
  'metrics.queue-lengths',
  `SELECT (SELECT count(*) FROM outbox WHERE published_at IS NULL)::int AS outbox,
     (SELECT count(*) FROM parked_events)::int AS parked, (SELECT count(*) FROM dead_letters)::int AS dead_letters`,
);
export const oldestUnpublished = sql(
  'metrics.oldest-unpublished',
  'SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS seconds FROM outbox WHERE published_at IS NULL',
);

const oldestDeadLetter = sql(
  'metrics.oldest-dead-letter',
  'SELECT coalesce(extract(epoch FROM now() - min(failed_at)), 0)::float8 AS seconds FROM dead_letters',
);

/** Returns one row for each service. An unavailable database has no row; other metrics show that it is unavailable. */
async function perService<Row extends Record<string, number>>(
  statement: Statement,
  use: (service: string, row: Row) => void,
): Promise<void> {
  const databases = new Map([...openDatabases].map((database) => [database.schema, database]));
  await Promise.all(
    [...databases].map(async ([service, database]) => {
      const [row] = await database.query<Row>(statement).catch(() => []);
      if (row) use(service, row);
    }),
  );
}

new Gauge({
  name: 'market_event_queue_length',
  help: 'Events of a service: unpublished in its outbox, parked after a failure, and dead letters',
  labelNames: ['service', 'queue'] as const,
  async collect() {
    this.reset();
    await perService(queueLengths, (service, row) => {
      for (const [queue, length] of Object.entries(row)) this.set({ service, queue }, length);
    });
  },
});

new Gauge({
  name: 'market_outbox_oldest_seconds',
  help: 'Age of the oldest event of a service that is not published',
  labelNames: ['service'] as const,
  async collect() {
    this.reset();
    await perService<{ seconds: number }>(oldestUnpublished, (service, { seconds }) => this.set({ service }, seconds));
  },
});

new Gauge({
  name: 'market_dead_letters_oldest_seconds',
  help: 'Age of the oldest event of a service that could not be handled',
  labelNames: ['service'] as const,
  async collect() {
    this.reset();
    await perService<{ seconds: number }>(oldestDeadLetter, (service, { seconds }) => this.set({ service }, seconds));
  },
});
