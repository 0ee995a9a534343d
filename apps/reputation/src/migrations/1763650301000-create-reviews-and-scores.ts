import type { MigrationInterface, QueryRunner } from 'typeorm';

const ROLE = 'market_reputation';

const FACTS = ['subscription_facts', 'registration_facts', 'wallet_facts', 'claim_facts', 'work_facts', 'reviews'];

/**
 * Facts are append-only and the truth. Everything else follows from them and can be made again: `listings`, `accounts`,
 * `trades` and `listing_totals` are what the facts add up to, `parties` and `ties` what others see of that, `scores` what it is
 * worth, and `stale_accounts` and `stale_scores` name what is to be looked at again.
 */
export class CreateReviewsAndScores1763650301000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE subscription_facts (
        subscription_id uuid PRIMARY KEY,
        payment_id uuid,
        listing_id uuid NOT NULL,
        seller_id uuid NOT NULL,
        buyer_id uuid NOT NULL,
        pricing_model text NOT NULL,
        gross_micros bigint NOT NULL,
        started_at timestamptz NOT NULL
      )`);
    await runner.query('CREATE TABLE registration_facts (account_id uuid PRIMARY KEY, registered_at timestamptz NOT NULL)');
    await runner.query(`
      CREATE TABLE wallet_facts (
        account_id uuid NOT NULL,
        address text NOT NULL,
        chain_type text NOT NULL,
        linked_at timestamptz NOT NULL,
        PRIMARY KEY (address, account_id)
      )`);
    await runner.query('CREATE TABLE claim_facts (agent_id uuid NOT NULL, human_id uuid NOT NULL, claimed_at timestamptz NOT NULL, PRIMARY KEY (agent_id, human_id))');
    await runner.query(`
      CREATE TABLE work_facts (
        event_id uuid PRIMARY KEY,
        account_id uuid NOT NULL,
        purpose text NOT NULL CHECK (purpose IN ('registration', 'listing')),
        difficulty int NOT NULL,
        solve_ms int NOT NULL,
        solved_at timestamptz NOT NULL
      )`);
    await runner.query('CREATE INDEX work_facts_latest ON work_facts (account_id, solved_at DESC, event_id)');
    await runner.query(`
      CREATE TABLE reviews (
        id uuid PRIMARY KEY,
        listing_id uuid NOT NULL,
        seller_id uuid NOT NULL,
        reviewer_id uuid NOT NULL,
        accuracy_rating smallint NOT NULL CHECK (accuracy_rating BETWEEN 1 AND 5),
        reliability_rating smallint NOT NULL CHECK (reliability_rating BETWEEN 1 AND 5),
        value_rating smallint NOT NULL CHECK (value_rating BETWEEN 1 AND 5),
        title text,
        comment text,
        created_at timestamptz NOT NULL,
        UNIQUE (listing_id, reviewer_id)
      )`);
    await runner.query('CREATE INDEX reviews_newest ON reviews (listing_id, created_at DESC, id DESC)');
    for (const table of FACTS) await runner.query(`REVOKE UPDATE, DELETE, TRUNCATE ON ${table} FROM ${ROLE}`);

    await runner.query(`
      CREATE TABLE listings (
        listing_id uuid PRIMARY KEY,
        version int NOT NULL,
        category_id uuid,
        category_name text,
        category_slug text
      )`);
    await runner.query(`
      CREATE TABLE accounts (
        account_id uuid PRIMARY KEY,
        party_id uuid NOT NULL,
        spent_micros bigint NOT NULL DEFAULT 0,
        earned_micros bigint NOT NULL DEFAULT 0,
        first_purchase_at timestamptz,
        last_purchase_at timestamptz,
        last_active_at timestamptz
      )`);
    await runner.query('CREATE INDEX accounts_party ON accounts (party_id)');
    await runner.query(`
      CREATE TABLE trades (
        seller_id uuid NOT NULL,
        buyer_id uuid NOT NULL,
        listing_id uuid NOT NULL,
        delivered int NOT NULL,
        failed int NOT NULL,
        subscriptions int NOT NULL,
        paid_micros bigint NOT NULL,
        first_at timestamptz,
        last_at timestamptz,
        accuracy_rating smallint,
        reliability_rating smallint,
        value_rating smallint,
        PRIMARY KEY (seller_id, buyer_id, listing_id)
      )`);
    await runner.query('CREATE INDEX trades_of_seller ON trades (seller_id, paid_micros DESC, buyer_id, listing_id)');
    await runner.query('CREATE INDEX trades_of_buyer ON trades (buyer_id, seller_id)');
    await runner.query(`
      CREATE TABLE listing_totals (
        listing_id uuid PRIMARY KEY,
        seller_id uuid NOT NULL,
        delivered int NOT NULL,
        failed int NOT NULL,
        subscriptions int NOT NULL,
        reviews int NOT NULL,
        accuracy_sum int NOT NULL,
        reliability_sum int NOT NULL,
        value_sum int NOT NULL
      )`);
    await runner.query('CREATE INDEX listing_totals_seller ON listing_totals (seller_id)');
    await runner.query(`
      CREATE TABLE parties (
        party_id uuid PRIMARY KEY,
        members uuid[] NOT NULL,
        revenue_micros bigint NOT NULL,
        is_net_payer boolean NOT NULL,
        is_funded boolean NOT NULL,
        tenure smallint NOT NULL
      )`);
    await runner.query('CREATE TABLE ties (buyer_party uuid NOT NULL, seller_party uuid NOT NULL, paid_micros bigint NOT NULL, PRIMARY KEY (buyer_party, seller_party))');
    await runner.query('CREATE INDEX ties_of_seller ON ties (seller_party, buyer_party)');
    await runner.query(`
      CREATE TABLE scores (
        agent_id uuid PRIMARY KEY,
        version int NOT NULL,
        score jsonb NOT NULL,
        scored_at timestamptz NOT NULL
      )`);
    await runner.query('CREATE INDEX scores_version ON scores (version)');
    // A mark a cause: what marks for one never waits for what marks for the other.
    await runner.query("CREATE TABLE stale_accounts (account_id uuid NOT NULL, cause text NOT NULL CHECK (cause IN ('facts', 'customers')), since timestamptz NOT NULL, PRIMARY KEY (account_id, cause))");
    await runner.query('CREATE TABLE stale_scores (agent_id uuid PRIMARY KEY, since timestamptz NOT NULL)');
    await this.addUpFacts(runner);
  }

  /** The same sums from scratch: facts that came before there was anything to add them up in start here, and what is kept is checked against them. */
  private async addUpFacts(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE VIEW trade_events AS
        SELECT seller_id, buyer_id, listing_id, (outcome = 'delivered')::int AS delivered, (outcome = 'failed')::int AS failed, 0 AS subscriptions, 0 AS reviews, gross_micros AS paid_micros,
               happened_at AS at, CASE WHEN outcome = 'delivered' THEN happened_at END AS purchased_at, NULL::smallint AS accuracy_rating, NULL::smallint AS reliability_rating, NULL::smallint AS value_rating
        FROM call_facts
        UNION ALL SELECT seller_id, buyer_id, listing_id, 0, 0, 1, 0, gross_micros, started_at, started_at, NULL, NULL, NULL FROM subscription_facts
        UNION ALL SELECT seller_id, reviewer_id, listing_id, 0, 0, 0, 1, 0, NULL, NULL, accuracy_rating, reliability_rating, value_rating FROM reviews`);
    await runner.query(`
      CREATE VIEW trades_from_facts AS
        SELECT seller_id, buyer_id, listing_id, sum(delivered)::int AS delivered, sum(failed)::int AS failed, sum(subscriptions)::int AS subscriptions, sum(paid_micros)::bigint AS paid_micros,
               min(at) AS first_at, max(at) AS last_at, max(accuracy_rating) AS accuracy_rating, max(reliability_rating) AS reliability_rating, max(value_rating) AS value_rating
        FROM trade_events GROUP BY seller_id, buyer_id, listing_id`);
    await runner.query(`
      CREATE VIEW listing_totals_from_facts AS
        SELECT listing_id, seller_id, sum(delivered)::int AS delivered, sum(failed)::int AS failed, sum(subscriptions)::int AS subscriptions, sum(reviews)::int AS reviews,
               coalesce(sum(accuracy_rating), 0)::int AS accuracy_sum, coalesce(sum(reliability_rating), 0)::int AS reliability_sum, coalesce(sum(value_rating), 0)::int AS value_sum
        FROM trade_events GROUP BY listing_id, seller_id`);
    await runner.query(`
      CREATE VIEW accounts_from_facts AS
        SELECT account_id, sum(spent)::bigint AS spent_micros, sum(earned)::bigint AS earned_micros, min(purchased_at) AS first_purchase_at, max(purchased_at) AS last_purchase_at, max(at) AS last_active_at
        FROM (
          SELECT buyer_id AS account_id, paid_micros AS spent, 0 AS earned, purchased_at, at FROM trade_events
          UNION ALL SELECT seller_id, 0, paid_micros, NULL, at FROM trade_events
          UNION ALL SELECT account_id, 0, 0, NULL, registered_at FROM registration_facts
          UNION ALL SELECT account_id, 0, 0, NULL, solved_at FROM work_facts
          UNION ALL SELECT account_id, 0, 0, NULL, NULL FROM wallet_facts
          UNION ALL SELECT agent_id, 0, 0, NULL, NULL FROM claim_facts
          UNION ALL SELECT human_id, 0, 0, NULL, NULL FROM claim_facts
        ) facts GROUP BY account_id`);
    await runner.query('INSERT INTO trades SELECT * FROM trades_from_facts');
    await runner.query('INSERT INTO listing_totals SELECT * FROM listing_totals_from_facts');
    await runner.query('INSERT INTO accounts SELECT account_id, account_id, spent_micros, earned_micros, first_purchase_at, last_purchase_at, last_active_at FROM accounts_from_facts');
    await runner.query("INSERT INTO stale_accounts (account_id, cause, since) SELECT account_id, 'facts', now() FROM accounts");
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP VIEW accounts_from_facts, listing_totals_from_facts, trades_from_facts, trade_events');
    await runner.query(`DROP TABLE stale_scores, stale_accounts, scores, ties, parties, listing_totals, trades, accounts, listings, ${FACTS.join(', ')}`);
  }
}
