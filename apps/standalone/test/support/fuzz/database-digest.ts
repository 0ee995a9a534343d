import { SERVICE_NAMES, topology } from '@market/contracts';
import type pg from 'pg';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * What a refused write may change, and why. A table name applies to every schema. If columns are named, only these may
 * change.
 */
const BOOKKEEPING: Record<string, { why: string; columns?: string[] }> = {
  challenges: { why: 'a wallet proof is used up by being tried, and new ones replace old ones' },
  listing_challenges: { why: 'as for wallets' },
  idempotency_keys: { why: 'a definitive refusal is kept under its Idempotency-Key' },
  call_keys: { why: 'the same, of gateway calls' },
  inbox: { why: 'events of earlier changes still arrive' },
  outbox: { why: 'they are marked when they were sent', columns: ['published_at'] },
  api_keys: { why: 'a key notes when it was used', columns: ['last_used_at'] },
  sessions: { why: 'as keys do', columns: ['last_used_at'] },
  webhooks: {
    why: 'a job sends them events of earlier changes, and what did not arrive again',
    columns: ['due_at', 'leased_until', 'last_event_id', 'last_success_at', 'last_failure_at'],
  },
  webhook_deliveries: { why: 'as their webhooks' },
};

/** Rows and digest of each table, by `schema.table`. */
type Digest = Map<string, string>;

const IN_FLIGHT = 'events under way';
const LOOK_INTERVAL_MS = 300;
const MAX_LOOKS = 100;

/** Detects changes in the database of a whole marketplace, except those that refused writes may make. */
export class DatabaseWatch {
  private constructor(
    private readonly client: pg.Client,
    private readonly statement: string,
  ) {}

  static async over(client: pg.Client): Promise<DatabaseWatch> {
    const { rows } = await client.query<{ schema: string; table: string; columns: string[] }>(`
      SELECT c.table_schema AS schema, c.table_name AS table, array_agg(c.column_name::text ORDER BY c.ordinal_position) AS columns
      FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
      WHERE c.table_schema NOT IN ('information_schema', 'pg_catalog', 'public') AND t.table_type = 'BASE TABLE'
      GROUP BY 1, 2 ORDER BY 1, 2`);
    const watched = rows.filter(({ table }) => !(table in BOOKKEEPING) || BOOKKEEPING[table]!.columns !== undefined);
    if (watched.length < 15) throw new Error(`the marketplace seems to have ${watched.length} tables`);
    return new DatabaseWatch(client, [countInFlight(), ...watched.map(digestOf)].join(' UNION ALL '));
  }

  private async digest(): Promise<Digest> {
    const { rows } = await this.client.query<{ name: string; digest: string }>(this.statement);
    return new Map(rows.map(({ name, digest }) => [name, digest]));
  }

  /**
   * Returns the tables that change every time the work is done. A table that changes only once was changed by a job or
   * an earlier event.
   */
  async changedBy(work: () => Promise<unknown>): Promise<string[]> {
    const changed = await this.changedDuring(work);
    if (changed.length === 0) return changed;
    const again = await this.changedDuring(work);
    return changed.filter((table) => again.includes(table));
  }

  private async changedDuring(work: () => Promise<unknown>): Promise<string[]> {
    const before = await this.settledDigest();
    await work();
    const after = await this.settledDigest();
    return differing(before, after);
  }

  /**
   * Returns the digest after all events were handled and two consecutive digests are equal. It limits the number of
   * digests instead of the time, because a busy machine slows down both.
   */
  private async settledDigest(): Promise<Digest> {
    let last = await this.digest();
    let moving: string[] = [];
    for (let looks = 1; looks < MAX_LOOKS; looks += 1) {
      await delay(LOOK_INTERVAL_MS);
      const before = last;
      last = await this.digest();
      moving = [...(last.get(IN_FLIGHT) === '0' ? [] : [IN_FLIGHT]), ...differing(before, last)];
      if (moving.length === 0) return last;
    }
    throw new Error(`the database does not come to rest: ${moving.join(', ')}`);
  }
}

const differing = (before: Digest, after: Digest): string[] =>
  [...after].filter(([name, digest]) => before.get(name) !== digest).map(([name]) => name);

/** SQL that counts events that were emitted and not yet handled by all consumers. */
function countInFlight(): string {
  const schemaOf = (service: string): string => service.replaceAll('-', '_');
  const waiting = SERVICE_NAMES.flatMap((consumer) =>
    topology[consumer].consumes.map(({ subject }) => {
      const emitter = SERVICE_NAMES.find((service) =>
        topology[service].emits.some((event) => event.subject === subject),
      )!;
      return `SELECT count(*) AS waiting FROM ${schemaOf(emitter)}.outbox e WHERE e.subject = '${subject}'
              AND NOT EXISTS (SELECT 1 FROM ${schemaOf(consumer)}.inbox i WHERE i.subject = e.subject AND i.event_id = e.id)`;
    }),
  );
  return `SELECT '${IN_FLIGHT}' AS name, sum(waiting)::text AS digest FROM (${waiting.join(' UNION ALL ')}) w`;
}

function digestOf({ schema, table, columns }: { schema: string; table: string; columns: string[] }): string {
  const fields = columns
    .filter((column) => !BOOKKEEPING[table]?.columns?.includes(column))
    .map((column) => `t.${column}`);
  // A sum is used because it does not depend on the order of rows.
  return `SELECT '${schema}.${table}' AS name,
    count(*) || ' ' || coalesce(sum(hashtextextended(ROW(${fields.join(', ')})::text, 0)::numeric), 0) AS digest
    FROM ${schema}.${table} t`;
}
