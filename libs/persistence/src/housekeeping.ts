import type { Database } from './database.js';
import { sql } from './statement.js';

/**
 * The rows that each service deletes, and after which time. Inbox ids are kept longer than the week for which JetStream
 * keeps events.
 */
const sweeps = [
  sql(
    'outbox.sweep',
    "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE published_at < now() - interval '3 days' LIMIT 10000)",
  ),
  sql(
    'inbox.sweep',
    `DELETE FROM inbox WHERE (subject, event_id) IN (
       SELECT subject, event_id FROM inbox WHERE received_at < now() - interval '8 days' LIMIT 10000)`,
  ),
  sql(
    'idempotency.sweep',
    `DELETE FROM idempotency_keys WHERE (account_id, key) IN (
       SELECT account_id, key FROM idempotency_keys WHERE created_at < now() - interval '25 hours' LIMIT 10000)`,
  ),
];

/** Deletes expired rows in batches of bounded size. It must be called repeatedly. */
export async function deleteExpired(database: Database): Promise<void> {
  for (const statement of sweeps) await database.query(statement);
}
