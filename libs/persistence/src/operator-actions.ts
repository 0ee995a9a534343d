import { newId } from '@market/kernel';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { NeverMigrated, roleOf, type Database, type Tx } from './database.js';
import { sql } from './statement.js';

const record = sql(
  'operator-actions.record',
  'INSERT INTO operator_actions (id, operator, command, subject, reason) VALUES ($1, $2, $3, $4, $5)',
);
const exists = sql(
  'operator-actions.exists',
  `SELECT to_regclass('operator_actions') IS NOT NULL AS found, to_regclass('payments_mode') IS NOT NULL AS "isMigrated"`,
);
const latest = sql(
  'operator-actions.latest',
  `SELECT id, done_at AS "doneAt", operator, command, subject, reason FROM operator_actions
   WHERE $2::uuid IS NULL OR id < $2 ORDER BY id DESC LIMIT $1`,
);
const countAll = sql('operator-actions.count', 'SELECT count(*)::int AS total FROM operator_actions');

export interface OperatorAction {
  operator: string;
  /** The command's name. */
  command: string;
  /** The id of the affected object. */
  subject: string;
  reason: string | null;
}

/** Records an operator's action in the transaction of the action. */
export async function recordOperatorAction(
  tx: Tx,
  { operator, command, subject, reason }: OperatorAction,
): Promise<void> {
  await tx.query(record, [newId(), operator, command, subject, reason]);
}

export interface RecordedAction extends OperatorAction {
  id: string;
  doneAt: Date;
}

/**
 * Returns the latest operators' actions of a service, newest first, starting before the action `before`, and the number
 * of all. Ids are ordered by time.
 */
export async function latestOperatorActions(
  database: Database,
  limit: number,
  before?: string,
): Promise<{ actions: RecordedAction[]; total: number }> {
  const [table] = await database.query<{ found: boolean; isMigrated: boolean }>(exists);
  if (!table!.isMigrated) throw new NeverMigrated(database.schema);
  if (!table!.found) return { actions: [], total: 0 };
  const [actions, [count]] = await Promise.all([
    database.query<RecordedAction>(latest, [limit, before]),
    database.query<{ total: number }>(countAll),
  ]);
  return { actions, total: count!.total };
}

/** For services whose commands change data. The table is append-only, even for its owner. */
export class CreateOperatorActions1763660000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const [{ schema }] = (await runner.query('SELECT current_schema() AS schema')) as [{ schema: string }];
    await runner.query(`
      CREATE TABLE operator_actions (
        id uuid PRIMARY KEY,
        done_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        operator text NOT NULL,
        command text NOT NULL,
        subject text NOT NULL,
        reason text
      )`);
    await runner.query(`REVOKE UPDATE, DELETE, TRUNCATE ON operator_actions FROM ${roleOf(schema)}`);
    await runner.query(`
      CREATE FUNCTION refuse_change_of_operator_actions() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'operator_actions is append-only' USING ERRCODE = 'insufficient_privilege';
      END $$`);
    await runner.query(`
      CREATE TRIGGER operator_actions_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON operator_actions
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_operator_actions()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE operator_actions');
    await runner.query('DROP FUNCTION refuse_change_of_operator_actions');
  }
}
