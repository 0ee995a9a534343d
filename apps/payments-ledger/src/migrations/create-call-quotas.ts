import type { QueryRunner } from 'typeorm';
import { ROLE } from './create-journal.js';

/**
 * How many calls a period of a subscription, which has the id of it, or a trial includes, and how many of them are taken. A
 * call is taken with its payment, and a trigger gives it back when that is cancelled, whichever statement does it. Where
 * units are included, a call takes `per_call` of them, and what it did not use is given back when it is completed; the
 * last call of a period may take more than are left.
 */
export async function createCallQuotas(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE call_quotas (
      id uuid PRIMARY KEY,
      buyer_id uuid NOT NULL,
      listing_id uuid NOT NULL,
      is_trial boolean NOT NULL,
      unit text,
      calls bigint NOT NULL,
      per_call bigint NOT NULL DEFAULT 1 CHECK (per_call > 0),
      used bigint NOT NULL DEFAULT 0,
      CONSTRAINT call_quotas_not_exceeded CHECK (used BETWEEN 0 AND calls + per_call - 1)
    )`);
  await runner.query('CREATE UNIQUE INDEX call_quotas_one_trial ON call_quotas (buyer_id, listing_id) WHERE is_trial');
  await runner.query(`REVOKE DELETE, TRUNCATE ON call_quotas FROM ${ROLE}`);
  await runner.query(`
    CREATE FUNCTION give_back_call() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE call_quotas SET used = used - per_call + CASE NEW.state WHEN 'completed' THEN least(NEW.units, per_call) ELSE 0 END
      WHERE id = OLD.quota_id;
      RETURN NULL;
    END $$`);
  await runner.query(`
    CREATE TRIGGER payments_give_back_call AFTER UPDATE OF state ON payments FOR EACH ROW
    WHEN (OLD.quota_id IS NOT NULL AND OLD.state = 'verified' AND (NEW.state = 'cancelled' OR NEW.units IS NOT NULL))
    EXECUTE FUNCTION give_back_call()`);
}
