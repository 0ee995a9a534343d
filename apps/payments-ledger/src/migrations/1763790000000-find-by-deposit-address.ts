import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Clients of x402 version 1 name the address they pay, and nothing else of an offer. */
export class FindByDepositAddress1763790000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX payments_deposit_address ON payments (lower(deposit_address))');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX payments_deposit_address');
  }
}
