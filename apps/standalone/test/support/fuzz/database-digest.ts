import { eventually } from '@market/testing';
import type pg from 'pg';

/**
 * What a refused write may leave behind, and why. A table stands for itself in every schema it is in; columns are those
 * that may change in rows which otherwise must not.
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
};

/** Rows and digest of each table, by `schema.table`. */
type Digest = Map<string, string>;

/** Sees whether anything that matters changed in the database of a whole marketplace. */
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
    return new DatabaseWatch(client, watched.map(digestOf).join(' UNION ALL '));
  }

  private async digest(): Promise<Digest> {
    const { rows } = await this.client.query<{ name: string; digest: string }>(this.statement);
    return new Map(rows.map(({ name, digest }) => [name, digest]));
  }

  /** The tables that the work changes whenever it is done: what changes once is what a job or an earlier event does meanwhile. */
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
    return [...after].filter(([name, digest]) => before.get(name) !== digest).map(([name]) => name);
  }

  /** The digest once nothing moves any more: no event is on its way, no sweeper at work. */
  private settledDigest(): Promise<Digest> {
    let last: Digest | undefined;
    return eventually(
      async () => {
        const before = last;
        last = await this.digest();
        if (JSON.stringify([...(before ?? [])]) !== JSON.stringify([...last]))
          throw new Error('the database does not come to rest');
        return last;
      },
      { withinMs: 30_000, everyMs: 300 },
    );
  }
}

function digestOf({ schema, table, columns }: { schema: string; table: string; columns: string[] }): string {
  const fields = columns
    .filter((column) => !BOOKKEEPING[table]?.columns?.includes(column))
    .map((column) => `t.${column}`);
  // A sum, because it does not depend on an order that tables do not have.
  return `SELECT '${schema}.${table}' AS name, count(*) || ' ' || coalesce(sum(hashtextextended(ROW(${fields.join(', ')})::text, 0)::numeric), 0) AS digest FROM ${schema}.${table} t`;
}
