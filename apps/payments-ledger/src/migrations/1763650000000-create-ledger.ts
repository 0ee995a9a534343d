import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createCallQuotas } from './create-call-quotas.js';
import { createJournal, makeAppendOnly, ROLE } from './create-journal.js';

export class CreateLedger1763650000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createPayments(runner);
    await createOffers(runner);
    await createAuthorizations(runner);
    await createSpending(runner);
    await createCallQuotas(runner);
    await createPayouts(runner);
    await createReconciliations(runner);
    await createJournal(runner);
    await createRefunds(runner);
    await createSubscriptions(runner);
    await makeAppendOnly(runner, ['journal_transactions', 'postings', 'payouts', 'checkpoints']);
    await protectPaidPayments(runner);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `DROP VIEW receipts, balances;
       DROP TABLE spending, call_quotas, subscriptions, refunds, postings, checkpoints, journal_transactions, journal_head,
         balance_snapshots, balances_until, payouts, payout_wallets, reconciliations, fee_standings, accounts, payers, gas_accounts,
         authorizations, sandbox_transfers, offers, payments`,
    );
    await runner.query(
      'DROP FUNCTION refuse_change, refuse_unbalanced, refuse_forgetting_money, release_spending, give_back_call, keep_offers',
    );
  }
}

/**
 * A payment is for a call (with its request), for a period of a subscription (with the pricing model and what is included
 * at the time of sale), or for fees that a seller owes. That of an included call is of nothing and takes one of a quota. A
 * call that costs what it uses has its tiers in `usage` and the most that it can cost in `quoted_micros`; its other amounts
 * in micros are of what was charged once that is known.
 */
async function createPayments(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE payments (
      id uuid PRIMARY KEY,
      relay_request_id text NOT NULL CONSTRAINT payments_relay_request_id UNIQUE,
      purpose text NOT NULL,
      gateway_request_id uuid,
      pricing_model text,
      included_calls int CHECK (included_calls > 0),
      included_units jsonb,
      quota_id uuid,
      offer_key bytea NOT NULL,
      state text NOT NULL CHECK (state IN (
        'pending', 'underpaid', 'verified', 'completed', 'expired', 'failed',
        'cancelled', 'refund_due', 'refunded', 'indeterminate')),
      buyer_id uuid NOT NULL,
      key_id uuid,
      seller_id uuid CHECK (seller_id <> buyer_id),
      listing_id uuid,
      listing_name text,
      listing_slug text,
      preferred_currency text,
      body_digest bytea CHECK (length(body_digest) = 32),
      rail text NOT NULL,
      scheme text NOT NULL CHECK (scheme IN ('deposit', 'exact', 'included')),
      network text NOT NULL,
      currency text NOT NULL,
      decimals int NOT NULL,
      pay_to text NOT NULL,
      payee text NOT NULL CHECK (payee IN ('operator', 'seller', 'split')),
      gross_micros bigint NOT NULL CHECK (gross_micros >= 0),
      fee_micros bigint NOT NULL CHECK (fee_micros >= 0),
      net_micros bigint NOT NULL CHECK (net_micros >= 0),
      fee_bps int NOT NULL,
      usage jsonb,
      quoted_micros bigint,
      units bigint CHECK (units >= 0),
      amount_base_units numeric(78, 0) NOT NULL CHECK (amount_base_units >= 0),
      received_base_units numeric(78, 0) NOT NULL DEFAULT 0 CHECK (received_base_units >= 0),
      transaction_hash text,
      authorization_id uuid,
      keyless_offer text,
      job_seconds int,
      in_use_until timestamptz,
      created_at timestamptz NOT NULL DEFAULT now(),
      expires_at timestamptz NOT NULL,
      verified_at timestamptz,
      retry_until timestamptz,
      completed_at timestamptz,
      is_unanswered boolean NOT NULL DEFAULT false,
      recheck_at timestamptz,
      budgets jsonb,
      reserved_on date CHECK (reserved_on IS NULL OR budgets IS NOT NULL),
      CONSTRAINT payments_purpose_whole CHECK (CASE purpose
        WHEN 'call' THEN gateway_request_id IS NOT NULL AND body_digest IS NOT NULL AND pricing_model IS NULL
        WHEN 'included' THEN gateway_request_id IS NOT NULL AND body_digest IS NOT NULL AND pricing_model IS NULL
          AND state IN ('verified', 'completed', 'cancelled')
        WHEN 'subscription' THEN gateway_request_id IS NULL AND body_digest IS NULL
          AND pricing_model IN ('monthly', 'yearly', 'usage_tiered')
        WHEN 'fee' THEN gateway_request_id IS NULL AND body_digest IS NULL AND pricing_model IS NULL
          AND scheme = 'exact' AND state NOT IN ('underpaid', 'refund_due')
        ELSE false END),
      CONSTRAINT payments_sale_whole CHECK (num_nulls(seller_id, listing_id, listing_name, listing_slug, preferred_currency)
        = CASE purpose WHEN 'fee' THEN 5 ELSE 0 END),
      CONSTRAINT payments_included_whole CHECK ((purpose = 'included') = (quota_id IS NOT NULL)
        AND (purpose = 'included') = (scheme = 'included') AND (purpose = 'included') = (gross_micros = 0)
        AND (purpose = 'included') = (amount_base_units = 0)
        AND ((included_calls IS NULL AND included_units IS NULL) OR purpose = 'subscription')),
      CHECK (gross_micros = fee_micros + net_micros),
      CONSTRAINT payments_usage_whole CHECK ((usage IS NULL) = (quoted_micros IS NULL) AND (units IS NULL OR usage IS NOT NULL)
        AND gross_micros <= coalesce(quoted_micros, gross_micros)),
      CONSTRAINT payments_units_said CHECK (state <> 'completed' OR (usage IS NULL) = (units IS NULL)),
      CHECK ((state = 'completed') = (completed_at IS NOT NULL))
    )`);
  await runner.query(
    `CREATE INDEX payments_live_offer ON payments (offer_key)
     WHERE state IN ('pending', 'underpaid', 'verified', 'indeterminate')`,
  );
  await runner.query(
    `CREATE UNIQUE INDEX payments_open_call ON payments (buyer_id, listing_id, body_digest)
     WHERE purpose = 'call' AND authorization_id IS NOT NULL
       AND (state IN ('verified', 'indeterminate') OR is_unanswered)`,
  );
  await runner.query(
    `CREATE UNIQUE INDEX payments_open_included_call ON payments (buyer_id, listing_id, body_digest)
     WHERE purpose = 'included' AND state = 'verified'`,
  );
  await runner.query('CREATE INDEX payments_of_quota ON payments (quota_id, state) WHERE quota_id IS NOT NULL');
  await runner.query(
    `CREATE INDEX payments_unpaid_until ON payments (rail, state, expires_at, id) WHERE state IN ('pending', 'underpaid')`,
  );
  await runner.query(
    `CREATE INDEX payments_of_fees ON payments (buyer_id) WHERE purpose = 'fee' AND state IN ('indeterminate', 'completed')`,
  );
  await runner.query(`CREATE INDEX payments_undelivered_until ON payments (retry_until, id) WHERE state = 'verified'`);
  await runner.query(`CREATE INDEX payments_open_of_buyer ON payments (buyer_id, expires_at) WHERE state = 'pending'`);
  await runner.query(
    `CREATE INDEX payments_unpaid_since ON payments (rail, expires_at, id) WHERE state IN ('expired', 'failed', 'cancelled')`,
  );
  await runner.query(
    `CREATE INDEX payments_completed_by_buyer ON payments (buyer_id, listing_id, completed_at)
     WHERE state = 'completed' AND purpose <> 'fee'`,
  );
  await runner.query(
    `CREATE INDEX payments_owed_back ON payments (rail) WHERE state = 'refund_due';
     CREATE INDEX payments_transaction ON payments (transaction_hash) WHERE transaction_hash IS NOT NULL;
     CREATE INDEX payments_spent ON payments (buyer_id, completed_at) INCLUDE (gross_micros, key_id, id)
     WHERE state = 'completed' AND purpose <> 'fee'`,
  );
  await runner.query(
    `CREATE INDEX payments_recheck ON payments (rail, recheck_at, id) WHERE state IN ('expired', 'failed', 'cancelled')`,
  );
  await runner.query(`
    CREATE INDEX payments_live_subscription ON payments (buyer_id, listing_id)
    WHERE purpose = 'subscription' AND state IN ('pending', 'underpaid', 'verified', 'indeterminate')`);
  await runner.query(`
    CREATE TABLE sandbox_transfers (
      transaction_hash text PRIMARY KEY,
      payment_id uuid NOT NULL REFERENCES payments (id),
      amount_base_units numeric(78, 0) NOT NULL CHECK (amount_base_units > 0),
      final_at timestamptz NOT NULL
    )`);
  await runner.query('CREATE INDEX sandbox_transfers_payment ON sandbox_transfers (payment_id)');
}

/**
 * Offers with the columns of the payments that they become when money or a signature comes for them. A partition is a day
 * and is dropped as a whole. Nothing is ever charged by an offer, so only the payment has to be unique over all days.
 */
async function createOffers(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE offers (
      LIKE payments INCLUDING DEFAULTS INCLUDING CONSTRAINTS,
      offered_on date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date,
      nth int NOT NULL,
      CONSTRAINT offers_nth_of_day UNIQUE (offer_key, nth, offered_on)
    ) PARTITION BY LIST (offered_on)`);
  await runner.query('CREATE INDEX offers_id ON offers (id)');
  await runner.query('CREATE INDEX offers_relay_request_id ON offers (relay_request_id)');
  await runner.query('CREATE INDEX offers_of_buyer ON offers (buyer_id, expires_at)');
  await runner.query(`REVOKE UPDATE, DELETE, TRUNCATE ON offers FROM ${ROLE}`);
  // An attached partition locks out nobody. One is dropped when its lock is free for a moment, or at the next run.
  await runner.query(`
    CREATE FUNCTION keep_offers(hours int) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = payments_ledger, pg_temp AS $$
    DECLARE
      today date := (now() AT TIME ZONE 'UTC')::date;
      day date;
      part text;
      is_over boolean;
    BEGIN
      PERFORM pg_advisory_xact_lock(hashtext('payments_ledger.keep_offers'));
      FOR day IN SELECT today + n FROM generate_series(0, 2) n LOOP
        part := 'offers_' || to_char(day, 'YYYYMMDD');
        IF to_regclass(part) IS NULL THEN
          EXECUTE format('CREATE TABLE %I (LIKE offers INCLUDING ALL)', part);
          EXECUTE format('REVOKE ALL ON %I FROM ${ROLE}', part);
          EXECUTE format('ALTER TABLE offers ATTACH PARTITION %I FOR VALUES IN (%L)', part, day);
        END IF;
      END LOOP;
      PERFORM set_config('lock_timeout', '500ms', true);
      FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'offers'::regclass
          AND inhrelid::regclass::text < 'offers_' || to_char(now() AT TIME ZONE 'UTC' - hours * interval '1 hour', 'YYYYMMDD') LOOP
        EXECUTE format('SELECT NOT EXISTS (SELECT FROM %I WHERE expires_at > now() - $1 * interval ''1 hour'')', part)
          INTO is_over USING hours;
        BEGIN
          IF is_over THEN EXECUTE format('DROP TABLE %I', part); END IF;
        EXCEPTION WHEN lock_not_available THEN NULL;
        END;
      END LOOP;
    END $$`);
}

/**
 * Signed payments (x402 `exact`). An authorization is held while the seller is called and settled after the seller's
 * answer. It belongs to one payment for ever.
 */
async function createAuthorizations(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE authorizations (
      id uuid PRIMARY KEY,
      payment_id uuid NOT NULL REFERENCES payments (id) ON DELETE CASCADE,
      state text NOT NULL CHECK (state IN ('held', 'settling', 'settled', 'refused', 'lapsed')),
      network text NOT NULL,
      asset text NOT NULL,
      payer text NOT NULL,
      nonce text NOT NULL,
      listing_id uuid,
      body_digest bytea,
      valid_before timestamptz NOT NULL,
      payload text NOT NULL,
      facilitator text,
      settlement jsonb,
      attempts int NOT NULL DEFAULT 0,
      tried_at timestamptz,
      settling_until timestamptz,
      reason text,
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT authorizations_nonce_once UNIQUE (network, asset, payer, nonce),
      CHECK (state <> 'settling' OR (tried_at IS NOT NULL AND settling_until IS NOT NULL))
    )`);
  await runner.query(
    `CREATE UNIQUE INDEX authorizations_one_a_payment ON authorizations (payment_id) WHERE state IN ('held', 'settling', 'settled')`,
  );
  await runner.query(
    `CREATE INDEX authorizations_unsettled ON authorizations (network, asset, payer) WHERE state IN ('held', 'settling')`,
  );
  // A wallet that signs for a call again, under whatever account, pays no second time while the first is under way.
  await runner.query(
    `CREATE UNIQUE INDEX authorizations_one_a_call ON authorizations (payer, listing_id, body_digest)
     WHERE state IN ('held', 'settling')`,
  );
  // The numbers of the transactions by which the marketplace settles, where it pays the gas.
  await runner.query(`
    CREATE TABLE gas_accounts (
      network text NOT NULL,
      address text NOT NULL,
      next_nonce bigint NOT NULL DEFAULT 0,
      counted bigint NOT NULL DEFAULT 0,
      counted_since timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (network, address)
    )`);
  await runner.query(`
    CREATE TABLE payers (
      network text NOT NULL,
      asset text NOT NULL,
      payer text NOT NULL,
      settles_first_since timestamptz,
      settled_base_units numeric NOT NULL DEFAULT 0,
      PRIMARY KEY (network, asset, payer)
    )`);
  await runner.query(
    `CREATE INDEX authorizations_settling ON authorizations (settling_until) WHERE state = 'settling'`,
  );
}

/**
 * What was spent under each budget in each day and month of UTC. A payment counts from the commit of its money
 * (`reserved_on`) until it ends without a charge. A trigger then subtracts it, whichever statement ends the payment, or
 * what a call that costs what it uses did not use.
 */
async function createSpending(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE spending (
      budget_id uuid NOT NULL,
      period text NOT NULL CHECK (period IN ('day', 'month')),
      starts_on date NOT NULL,
      account_id uuid NOT NULL,
      spent_micros bigint NOT NULL CHECK (spent_micros >= 0),
      PRIMARY KEY (budget_id, period, starts_on)
    )`);
  // Rows are locked in the same order everywhere, so that payments that end and payments that begin do not deadlock.
  await runner.query(`
    CREATE FUNCTION release_spending() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      counted record;
      ends boolean := NEW.reserved_on IS NULL
        OR NEW.state IN ('pending', 'expired', 'failed', 'cancelled', 'refund_due', 'refunded');
      still_counted bigint := CASE WHEN ends THEN 0 ELSE NEW.gross_micros END;
    BEGIN
      FOR counted IN
        SELECT s.budget_id, s.period, s.starts_on FROM spending s
        WHERE s.budget_id IN (SELECT (b ->> 'id')::uuid FROM jsonb_array_elements(OLD.budgets) b)
          AND ((s.period = 'day' AND s.starts_on = OLD.reserved_on)
            OR (s.period = 'month' AND s.starts_on = date_trunc('month', OLD.reserved_on)::date))
        ORDER BY s.budget_id, s.period FOR UPDATE
      LOOP
        UPDATE spending s SET spent_micros = s.spent_micros - OLD.gross_micros + still_counted
        WHERE s.budget_id = counted.budget_id AND s.period = counted.period AND s.starts_on = counted.starts_on;
      END LOOP;
      IF ends THEN NEW.reserved_on := NULL; END IF;
      RETURN NEW;
    END $$`);
  await runner.query(`
    CREATE TRIGGER payments_release_spending BEFORE UPDATE ON payments FOR EACH ROW
    WHEN (OLD.reserved_on IS NOT NULL AND (NEW.reserved_on IS NULL
      OR NEW.gross_micros < OLD.gross_micros
      OR (NEW.state <> OLD.state AND NEW.state IN ('pending', 'expired', 'failed', 'cancelled', 'refund_due', 'refunded'))))
    EXECUTE FUNCTION release_spending()`);
}

/** Transfers by which the operator paid sellers, and the wallets of the last exports. */
async function createPayouts(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE payouts (
      id uuid PRIMARY KEY,
      seller_id uuid NOT NULL,
      network text NOT NULL,
      wallet text NOT NULL,
      transaction_hash text NOT NULL,
      log_index int NOT NULL,
      amount_micros bigint NOT NULL CHECK (amount_micros > 0),
      confirmed_at timestamptz NOT NULL,
      CONSTRAINT payouts_transfer_once UNIQUE (network, transaction_hash, log_index)
    )`);
  await runner.query('CREATE INDEX payouts_of_seller ON payouts (seller_id, id DESC)');
  await runner.query(`
    CREATE TABLE payout_wallets (
      network text NOT NULL,
      wallet text NOT NULL,
      seller_id uuid NOT NULL,
      amount_micros bigint NOT NULL,
      exported_at timestamptz NOT NULL,
      PRIMARY KEY (network, wallet)
    )`);
}

/**
 * The results of comparing settlements with what chains and providers report. `unexplained` holds the difference, if
 * any.
 */
async function createReconciliations(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE reconciliations (
      payment_id uuid PRIMARY KEY REFERENCES payments (id) ON DELETE CASCADE,
      checked_at timestamptz NOT NULL,
      unexplained text
    )`);
  await runner.query(
    'CREATE INDEX reconciliations_unexplained ON reconciliations (payment_id) WHERE unexplained IS NOT NULL',
  );
}

/** Refunds, with one row for each debtor. One transfer on a chain pays at most one refund. */
async function createRefunds(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE refunds (
      id uuid PRIMARY KEY,
      payment_id uuid NOT NULL REFERENCES payments (id),
      reason text NOT NULL CHECK (reason IN ('not_delivered', 'paid_late', 'overpaid', 'unused')),
      owed_by text NOT NULL CHECK (owed_by IN ('seller', 'operator')),
      buyer_id uuid NOT NULL,
      seller_id uuid NOT NULL,
      amount_micros bigint NOT NULL CHECK (amount_micros > 0),
      network text NOT NULL,
      wallet text,
      due_since timestamptz NOT NULL,
      payable_since timestamptz,
      is_overdue boolean NOT NULL DEFAULT false,
      transaction_hash text,
      log_index int,
      refunded_at timestamptz,
      CONSTRAINT refunds_one_a_debt UNIQUE (payment_id, reason, owed_by),
      CONSTRAINT refunds_transfer_once UNIQUE (network, transaction_hash, log_index),
      CHECK ((wallet IS NULL) = (payable_since IS NULL)),
      CHECK (num_nulls(transaction_hash, log_index, refunded_at) IN (0, 3))
    )`);
  await runner.query('CREATE INDEX refunds_due ON refunds (due_since) WHERE refunded_at IS NULL');
  await runner.query('CREATE INDEX refunds_of_buyer ON refunds (buyer_id, id DESC)');
  await runner.query('CREATE INDEX refunds_of_seller ON refunds (seller_id, id DESC)');
  await runner.query(`REVOKE DELETE, TRUNCATE ON refunds FROM ${ROLE}`);
}

async function createSubscriptions(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE subscriptions (
      id uuid PRIMARY KEY,
      consumer_id uuid NOT NULL,
      seller_id uuid NOT NULL CHECK (seller_id <> consumer_id),
      listing_id uuid NOT NULL,
      listing_name text NOT NULL,
      listing_slug text NOT NULL,
      pricing_model text NOT NULL CHECK (pricing_model IN ('free', 'monthly', 'yearly', 'usage_tiered')),
      price_micros bigint NOT NULL CHECK (price_micros >= 0),
      payment_id uuid UNIQUE REFERENCES payments (id),
      status text NOT NULL CHECK (status IN ('active', 'cancelled', 'expired')),
      created_at timestamptz NOT NULL,
      current_period_end timestamptz,
      ended_at timestamptz,
      CONSTRAINT subscriptions_paid_whole CHECK ((payment_id IS NULL) = (price_micros = 0)
        AND (payment_id IS NULL) = (current_period_end IS NULL)),
      CONSTRAINT subscriptions_end_whole CHECK ((status = 'active') = (ended_at IS NULL))
    )`);
  await runner.query(
    `CREATE UNIQUE INDEX subscriptions_one_active ON subscriptions (consumer_id, listing_id) WHERE status = 'active'`,
  );
  await runner.query('CREATE INDEX subscriptions_of_consumer ON subscriptions (consumer_id, created_at DESC, id DESC)');
  await runner.query(
    'CREATE INDEX subscriptions_of_listing ON subscriptions (consumer_id, listing_id, created_at DESC)',
  );
  await runner.query(
    `CREATE INDEX subscriptions_period_end ON subscriptions (current_period_end)
     WHERE status = 'active' AND current_period_end IS NOT NULL`,
  );
  await runner.query(`REVOKE DELETE, TRUNCATE ON subscriptions FROM ${ROLE}`);
}

/** Unpaid offers may be deleted. Payments that received money may not. */
async function protectPaidPayments(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE FUNCTION refuse_forgetting_money() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF OLD.state NOT IN ('expired', 'failed', 'cancelled') OR OLD.received_base_units > 0 THEN
        RAISE EXCEPTION 'payment % is not one that came to nothing', OLD.id USING ERRCODE = 'insufficient_privilege';
      END IF;
      RETURN OLD;
    END $$`);
  await runner.query(
    'CREATE TRIGGER payments_keep_money BEFORE DELETE ON payments FOR EACH ROW EXECUTE FUNCTION refuse_forgetting_money()',
  );
}
