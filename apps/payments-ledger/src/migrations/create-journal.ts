import type { QueryRunner } from 'typeorm';

export const ROLE = 'market_payments_ledger';

export async function createJournal(runner: QueryRunner): Promise<void> {
  // Balances as of `balances_until`. The view `balances` adds what was posted since.
  await runner.query(`
    CREATE TABLE accounts (
      address text PRIMARY KEY,
      owner_id uuid,
      balance_micros bigint NOT NULL,
      unsnapped int NOT NULL DEFAULT 0
    )`);
  await runner.query('CREATE INDEX accounts_owner ON accounts (owner_id) WHERE owner_id IS NOT NULL');
  await runner.query(
    `CREATE INDEX accounts_to_pay_out ON accounts (address) WHERE address LIKE 'agent:%:earnings:x402:%'`,
  );
  await runner.query(`CREATE INDEX accounts_of_fees ON accounts (address) WHERE address LIKE 'agent:%:fees'`);
  await runner.query(`
    CREATE TABLE balances_until (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      sequence bigint NOT NULL
    )`);
  await runner.query('INSERT INTO balances_until (sequence) VALUES (0)');
  // What an account held after all postings up to a sequence, now and then, so that the balance after any posting is
  // the sum of a few.
  await runner.query(`
    CREATE TABLE balance_snapshots (
      account text NOT NULL,
      sequence bigint NOT NULL,
      balance_micros bigint NOT NULL,
      PRIMARY KEY (account, sequence)
    )`);
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
      link bytea NOT NULL
    )`);
  await runner.query(`INSERT INTO journal_head (sequence, link) VALUES (0, decode(repeat('00', 32), 'hex'))`);
  // Nothing here has a foreign key: `books verify` compares each row with what it names, and a key would be checked
  // under the lock of the head. The last row of a group has its link of the chain.
  await runner.query(`
    CREATE TABLE journal_transactions (
      sequence bigint PRIMARY KEY,
      id uuid NOT NULL UNIQUE,
      reason text NOT NULL,
      payment_id uuid,
      payout_id uuid,
      request_digest bytea,
      response_digest bytea,
      seller_status_code int,
      recorded_at timestamptz NOT NULL,
      digest bytea NOT NULL CHECK (length(digest) = 32),
      checksums bytea NOT NULL,
      link bytea,
      CHECK (num_nonnulls(payment_id, payout_id) = 1),
      CHECK (num_nulls(request_digest, response_digest, seller_status_code) IN (0, 3)),
      CONSTRAINT journal_once_per_payment UNIQUE (payment_id, reason)
    )`);
  await runner.query(
    'CREATE UNIQUE INDEX journal_once_per_payout ON journal_transactions (payout_id) WHERE payout_id IS NOT NULL',
  );
  // What was signed of the books, each after the one before.
  await runner.query(`
    CREATE TABLE checkpoints (
      sequence bigint PRIMARY KEY,
      after bigint NOT NULL UNIQUE,
      jws text NOT NULL,
      made_at timestamptz NOT NULL DEFAULT now(),
      CHECK (sequence > after)
    )`);
  await runner.query(`
    CREATE TABLE postings (
      sequence bigint NOT NULL,
      position smallint NOT NULL,
      account text NOT NULL,
      owner_id uuid,
      type text NOT NULL CHECK (type IN ('direct_payment', 'seller_credit', 'marketplace_fee', 'adjustment')),
      direction text NOT NULL CHECK (direction IN ('debit', 'credit')),
      amount_micros bigint NOT NULL CHECK (amount_micros > 0),
      PRIMARY KEY (sequence, position)
    )`);
  await runner.query(
    'CREATE INDEX postings_owner ON postings (owner_id, sequence DESC, position DESC) WHERE owner_id IS NOT NULL',
  );
  // The bounds make the planner read the few newest postings by the index.
  await runner.query(`
    CREATE VIEW balances AS
    SELECT address, owner_id, sum(micros)::bigint AS balance_micros FROM (
      SELECT address, owner_id, balance_micros AS micros FROM accounts
      UNION ALL
      SELECT account, owner_id, CASE direction WHEN 'credit' THEN amount_micros ELSE -amount_micros END FROM postings
      WHERE sequence > (SELECT sequence FROM balances_until) AND sequence <= (SELECT sequence + 1000000000 FROM balances_until)
    ) moved GROUP BY address, owner_id`);
  // Every statement must balance each transaction to which it adds postings, so earlier postings need not be read
  // again.
  await runner.query(`
    CREATE FUNCTION refuse_unbalanced() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE unbalanced bigint;
    BEGIN
      SELECT sequence INTO unbalanced FROM inserted GROUP BY sequence
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
  // A receipt is what a party of a sale sees of it.
  await runner.query(`
    CREATE VIEW receipts AS
    SELECT (left(t.id::text, 35) || CASE o.type WHEN 'direct_payment' THEN 'b' ELSE 'e' END)::uuid AS id,
      o.sequence, t.payment_id, CASE o.type WHEN 'direct_payment' THEN 'buyer' ELSE 'seller' END AS recipient_type,
      o.owner_id AS recipient_id, t.request_digest, t.response_digest, t.seller_status_code, t.recorded_at AS created_at
    FROM postings o JOIN journal_transactions t USING (sequence) WHERE o.type IN ('direct_payment', 'seller_credit')`);
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
  await runner.query(
    `REVOKE DELETE, TRUNCATE ON accounts, balances_until, balance_snapshots, journal_head FROM ${ROLE}`,
  );
  await runner.query(`REVOKE TRUNCATE ON payments FROM ${ROLE}`);
}
