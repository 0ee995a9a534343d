import { spawn } from 'node:child_process';
import { once } from 'node:events';
import pg from 'pg';
import { MARKET_ADMIN } from '../market-admin.js';

/** Fills the catalog with listings in all states, by the command behind `market-admin listings seed`. */
export async function seedTo(databaseUrl: string, listings: number): Promise<void> {
  const there = await query<{ count: number }>(databaseUrl, 'SELECT count(*)::int AS count FROM catalog.listings');
  const missing = listings - there[0]!.count;
  if (missing <= 0) return;
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [MARKET_ADMIN, 'listings', 'seed', '--listings', String(missing)], {
    env: { PATH, HOME, DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`seeding ended with ${code}`);
  // The background work of PostgreSQL after so many writes must not be measured with the searches.
  await query(databaseUrl, 'VACUUM (ANALYZE)');
  await query(databaseUrl, 'CHECKPOINT');
}

export async function countActive(databaseUrl: string): Promise<number> {
  const [row] = await query<{ count: number }>(
    databaseUrl,
    `SELECT count(*)::int AS count FROM catalog.listings WHERE status = 'active'`,
  );
  return row!.count;
}

/** Descriptions of listings chosen at random. */
export async function someDescriptions(databaseUrl: string, count: number): Promise<string[]> {
  const rows = await query<{ description: string }>(
    databaseUrl,
    `SELECT description FROM catalog.listings WHERE status = 'active' ORDER BY hashtext(id::text) LIMIT $1`,
    [count],
  );
  return rows.map(({ description }) => description);
}

/** Reprices, renames, withdraws and publishes listings until it is stopped. */
export function changeListings(databaseUrl: string, perSecond: number): () => Promise<void> {
  let stopped = false;
  const client = new pg.Client({ connectionString: databaseUrl });
  const run = async (): Promise<void> => {
    await client.connect();
    for (let turn = 0; !stopped; turn += 1) {
      const nextTurn = new Promise((resolve) => setTimeout(resolve, 1_000 / perSecond));
      await client.query(
        `UPDATE catalog.listings SET
           price_micros = CASE WHEN pricing_model = 'free' THEN 0 ELSE price_micros + 1 END,
           description = description || '.',
           status = CASE WHEN status = 'active' AND $1 % 3 = 0 THEN 'draft' ELSE 'active' END,
           suspended_by = NULL, published_at = coalesce(published_at, now())
         WHERE id = (SELECT id FROM catalog.listings ORDER BY id OFFSET $1 % 5000 LIMIT 1)`,
        [turn],
      );
      await nextTurn;
    }
  };
  const ended = run().finally(() => client.end());
  return async () => {
    stopped = true;
    await ended;
  };
}

async function query<Row extends pg.QueryResultRow>(
  databaseUrl: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}
