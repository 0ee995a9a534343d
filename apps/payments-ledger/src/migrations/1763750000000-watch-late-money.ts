import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When the rail of a payment that is over is asked again whether money came; null where nothing can come, or nobody looks any more. */
export class WatchLateMoney1763750000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payments ADD COLUMN look_again_at timestamptz');
    await runner.query(`UPDATE payments SET look_again_at = expires_at WHERE rail <> 'sandbox'`);
    await runner.query(`CREATE INDEX payments_look_again ON payments (look_again_at) WHERE look_again_at IS NOT NULL AND state IN ('expired', 'failed', 'cancelled', 'completed', 'refund_due')`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payments DROP COLUMN look_again_at');
  }
}
