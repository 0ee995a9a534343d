import { sql, type Database } from '@market/persistence';
import type { ServiceName } from '@market/contracts';
import { ConfigError } from './define-config.js';

export type PaymentsMode = 'sandbox' | 'live';

const remember = sql(
  'runtime.remember-payments-mode',
  'INSERT INTO payments_mode (mode) VALUES ($1) ON CONFLICT DO NOTHING',
);
const recall = sql('runtime.recall-payments-mode', 'SELECT mode FROM payments_mode');

/**
 * The first process that uses a database fixes its payments mode, so that simulated and real money are never mixed.
 * Nothing is written unless every database is unused or has this mode.
 * @throws ConfigError naming the services whose data have the other mode.
 */
export async function claimPaymentsMode(
  databases: ReadonlyMap<ServiceName, Database>,
  mode: PaymentsMode,
): Promise<void> {
  await refuseOthers(databases, mode);
  for (const database of databases.values()) await database.query(remember, [mode]);
  // Another process may have set the mode meanwhile.
  await refuseOthers(databases, mode);
}

async function refuseOthers(databases: ReadonlyMap<ServiceName, Database>, mode: PaymentsMode): Promise<void> {
  const others: ServiceName[] = [];
  for (const [service, database] of databases) {
    const [kept] = await database.query<{ mode: PaymentsMode }>(recall);
    if (kept && kept.mode !== mode) others.push(service);
  }
  if (others.length === 0) return;
  const other: PaymentsMode = mode === 'live' ? 'sandbox' : 'live';
  throw new ConfigError([
    `PAYMENTS_MODE: is ${mode}, and the data of ${others.join(', ')} are ${other}; ` +
      `start with PAYMENTS_MODE=${other}, or on another database (DATABASE_URL, DATA_DIR)`,
  ]);
}
