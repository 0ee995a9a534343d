import type { Database } from './database.js';
import { sql } from './statement.js';

/** What each service may forget, and after how long. Inbox ids outlive the week that JetStream keeps events. */
const sweeps = [
  sql(
    'outbox.sweep',
    "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE published_at < now() - interval '3 days' LIMIT 10000)",
  ),
  sql(
    'inbox.sweep',
    "DELETE FROM inbox WHERE (subject, event_id) IN (SELECT subject, event_id FROM inbox WHERE received_at < now() - interval '8 days' LIMIT 10000)",
  ),
  sql(
    'idempotency.sweep',
    "DELETE FROM idempotency_keys WHERE (account_id, key) IN (SELECT account_id, key FROM idempotency_keys WHERE created_at < now() - interval '25 hours' LIMIT 10000)",
  ),
];

/** Deletes what is out of date, in bounded bites; meant to be repeated. */
export async function forgetOutdated(database: Database): Promise<void> {
  for (const statement of sweeps) await database.query(statement);
}
