import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the health of an endpoint is judged by, real attempts of a call, and results that are not kept for ever. */
export class WatchEndpoints1763720000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE endpoints ADD COLUMN verified_at timestamptz, ADD COLUMN probe_at timestamptz');
    await runner.query(`UPDATE endpoints SET verified_at = coalesce(last_test_at, updated_at) WHERE status = 'active' OR last_test_ok`);
    await runner.query(`UPDATE endpoints SET probe_at = now() WHERE status = 'failing'`);
    await runner.query(`ALTER TABLE endpoints ADD CONSTRAINT endpoints_failing_is_probed CHECK (status <> 'failing' OR probe_at IS NOT NULL)`);
    await runner.query('ALTER TABLE gateway_requests ADD COLUMN unused_claims int NOT NULL DEFAULT 0');
    await runner.query('ALTER TABLE gateway_requests DROP CONSTRAINT gateway_requests_check');
    await runner.query('CREATE INDEX gateway_requests_kept_results ON gateway_requests (completed_at) WHERE result_json IS NOT NULL');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX gateway_requests_kept_results');
    // A result that is no longer kept does not come back.
    await runner.query('ALTER TABLE gateway_requests ADD CONSTRAINT gateway_requests_check CHECK (billable IS NOT TRUE OR result_json IS NOT NULL) NOT VALID');
    await runner.query('ALTER TABLE gateway_requests DROP COLUMN unused_claims');
    await runner.query('ALTER TABLE endpoints DROP CONSTRAINT endpoints_failing_is_probed, DROP COLUMN probe_at, DROP COLUMN verified_at');
  }
}
