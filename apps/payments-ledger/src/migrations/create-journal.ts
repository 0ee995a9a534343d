import type { QueryRunner } from 'typeorm';

export const ROLE = 'market_payments_ledger';

export async function createJournal(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE accounts (
      address text PRIMARY KEY,
      owner_id uuid,
      balance_micros bigint NOT NULL
    )`);
  await runner.query('CREATE INDEX accounts_owner ON accounts (owner_id) WHERE owner_id IS NOT NULL');
  await runner.query(
    `CREATE INDEX accounts_to_pay_out ON accounts (address) WHERE address LIKE 'agent:%:earnings:x402:%'`,
  );
  await runner.query(`CREATE INDEX accounts_of_fees ON accounts (address) WHERE address LIKE 'agent:%:fees'`);
  await runner.query(`
    CREATE TABLE fee_standings (
      seller_id uuid PRIMARY KEY,
      over_limit_since timestamptz,
      is_near_limit boolean NOT NULL DEFAULT false,
      is_overdue boolean NOT NULL DEFAULT false,
      version int NOT NULL DEFAULT 0
    )`);
  await runner.query(`
    CREATE TABLE journal_head (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      sequence bigint NOT NULL,
      hash bytea NOT NULL
    )`);
  await runner.query(`INSERT INTO journal_head (sequence, hash) VALUES (0, decode(repeat('00', 32), 'hex'))`);
  await runner.query(`
    CREATE TABLE journal_transactions (
      id uuid PRIMARY KEY,
      sequence bigint NOT NULL UNIQUE,
      reason text NOT NULL,
      payment_id uuid REFERENCES payments (id),
      payout_id uuid UNIQUE REFERENCES payouts (id),
      recorded_at timestamptz NOT NULL,
      hash bytea NOT NULL,
      checksums bytea NOT NULL,
      CHECK (num_nonnulls(payment_id, payout_id) = 1),
      CONSTRAINT journal_once_per_payment UNIQUE (payment_id, reason)
    )`);
  await runner.query(`
    CREATE TABLE postings (
      id uuid PRIMARY KEY,
      transaction_id uuid NOT NULL REFERENCES journal_transactions (id),
      sequence bigint NOT NULL,
      position int NOT NULL,
      account text NOT NULL REFERENCES accounts (address),
      owner_id uuid,
      type text NOT NULL CHECK (type IN ('direct_payment', 'seller_credit', 'marketplace_fee', 'adjustment')),
      direction text NOT NULL CHECK (direction IN ('debit', 'credit')),
      amount_micros bigint NOT NULL CHECK (amount_micros > 0),
      balance_after_micros bigint NOT NULL,
      UNIQUE (transaction_id, position)
    )`);
  await runner.query(
    'CREATE INDEX postings_owner ON postings (owner_id, sequence DESC, position DESC) WHERE owner_id IS NOT NULL',
  );
  // Every statement must balance each transaction to which it adds postings, so earlier postings need not be read
  // again.
  await runner.query(`
    CREATE FUNCTION refuse_unbalanced() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE unbalanced uuid;
    BEGIN
      SELECT transaction_id INTO unbalanced FROM inserted GROUP BY transaction_id
      HAVING sum(CASE direction WHEN 'credit' THEN amount_micros ELSE -amount_micros END) <> 0
      LIMIT 1;
      IF unbalanced IS NOT NULL THEN
        RAISE EXCEPTION 'journal transaction % is not balanced', unbalanced USING ERRCODE = 'check_violation';
      END IF;
      RETURN NULL;
    END $$`);
  await runner.query(`
    CREATE TRIGGER postings_balance AFTER INSERT ON postings
    REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_unbalanced()`);
}

export async function createReceipts(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE receipts (
      id uuid PRIMARY KEY,
      payment_id uuid NOT NULL REFERENCES payments (id),
      recipient_type text NOT NULL CHECK (recipient_type IN ('buyer', 'seller')),
      recipient_id uuid NOT NULL,
      request_digest bytea,
      response_digest bytea,
      seller_status_code int,
      created_at timestamptz NOT NULL,
      CONSTRAINT receipts_of_call_whole CHECK ((request_digest IS NULL) = (response_digest IS NULL)
        AND (request_digest IS NULL) = (seller_status_code IS NULL)),
      CONSTRAINT receipts_one_a_side UNIQUE (payment_id, recipient_type)
    )`);
  await runner.query('CREATE INDEX receipts_recipient ON receipts (recipient_id, id DESC)');
}

/** The service's role may insert and read. A trigger rejects updates and deletes, even by the owner. */
export async function makeAppendOnly(runner: QueryRunner, tables: string[]): Promise<void> {
  await runner.query(`
    CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
    END $$`);
  for (const table of tables) {
    await runner.query(`REVOKE UPDATE, DELETE, TRUNCATE ON ${table} FROM ${ROLE}`);
    await runner.query(
      `CREATE TRIGGER ${table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ${table}
       FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
    );
  }
  await runner.query(`REVOKE DELETE, TRUNCATE ON accounts, journal_head FROM ${ROLE}`);
  await runner.query(`REVOKE TRUNCATE ON payments FROM ${ROLE}`);
}
