import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateIdentity1763700000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // registered_at is null if the account was opened by a payment and its holder has not registered yet.
    await runner.query(`
      CREATE TABLE accounts (
        id uuid PRIMARY KEY,
        account_type text NOT NULL CONSTRAINT accounts_account_type CHECK (account_type IN ('agent', 'human')),
        role text NOT NULL CONSTRAINT accounts_role CHECK (role IN ('buyer', 'seller', 'both')),
        display_name text NOT NULL,
        is_verified boolean NOT NULL DEFAULT false,
        bio text,
        avatar_url text,
        website text,
        registered_at timestamptz,
        budget jsonb,
        suspended_at timestamptz,
        suspension_version int NOT NULL DEFAULT 0,
        created_at timestamptz NOT NULL DEFAULT now()
      )`);
    // Addresses are stored in canonical form, so that the unique index allows only one account per wallet.
    await runner.query(`
      CREATE TABLE wallets (
        id uuid PRIMARY KEY,
        account_id uuid NOT NULL CONSTRAINT wallets_account REFERENCES accounts (id),
        chain_type text NOT NULL CONSTRAINT wallets_chain_type CHECK (chain_type IN ('evm', 'solana')),
        address text NOT NULL,
        label text,
        is_primary boolean NOT NULL DEFAULT false,
        is_default_payer boolean NOT NULL DEFAULT false,
        is_default_payout boolean NOT NULL DEFAULT false,
        capabilities text[] NOT NULL CONSTRAINT wallets_capabilities CHECK (capabilities <@ ARRAY['login', 'recovery', 'payer', 'payout']),
        status text NOT NULL CONSTRAINT wallets_status CHECK (status IN ('active', 'disabled')),
        verified_at timestamptz NOT NULL DEFAULT now(),
        created_at timestamptz NOT NULL DEFAULT now()
      )`);
    await runner.query('CREATE UNIQUE INDEX wallets_address ON wallets (address)');
    await runner.query('CREATE INDEX wallets_account_id ON wallets (account_id)');
    await runner.query('CREATE UNIQUE INDEX wallets_one_primary ON wallets (account_id) WHERE is_primary');
    await runner.query('CREATE UNIQUE INDEX wallets_one_default_payer ON wallets (account_id) WHERE is_default_payer');
    await runner.query(
      'CREATE UNIQUE INDEX wallets_one_default_payout ON wallets (account_id) WHERE is_default_payout',
    );
    await runner.query(`
      CREATE TABLE api_keys (
        id uuid PRIMARY KEY,
        account_id uuid NOT NULL CONSTRAINT api_keys_account REFERENCES accounts (id),
        name text NOT NULL,
        key_hash bytea NOT NULL CONSTRAINT api_keys_hash_is_sha256 CHECK (length(key_hash) = 32),
        key_prefix text NOT NULL,
        scopes text[] NOT NULL CONSTRAINT api_keys_scopes CHECK (scopes <@ ARRAY['read', 'write', 'subscribe'] AND cardinality(scopes) > 0),
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz,
        budget jsonb,
        revoked_at timestamptz,
        last_used_at timestamptz
      )`);
    await runner.query('CREATE UNIQUE INDEX api_keys_key_hash ON api_keys (key_hash)');
    await runner.query('CREATE INDEX api_keys_account_id ON api_keys (account_id)');
    await runner.query(`
      CREATE TABLE challenges (
        nonce text PRIMARY KEY,
        purpose text NOT NULL,
        chain_type text NOT NULL CONSTRAINT challenges_chain_type CHECK (chain_type IN ('evm', 'solana')),
        address text NOT NULL,
        chain_id bigint,
        agent_id uuid,
        human_id uuid,
        pow_challenge text NOT NULL,
        pow_difficulty smallint NOT NULL,
        issued_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL,
        consumed_at timestamptz
      )`);
    await runner.query('CREATE INDEX challenges_expires_at ON challenges (expires_at)');
    await runner.query(`
      CREATE TABLE sessions (
        id uuid PRIMARY KEY,
        account_id uuid NOT NULL CONSTRAINT sessions_account REFERENCES accounts (id),
        token_hash bytea NOT NULL CONSTRAINT sessions_hash_is_sha256 CHECK (length(token_hash) = 32),
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL
      )`);
    await runner.query('CREATE UNIQUE INDEX sessions_token_hash ON sessions (token_hash)');
    await runner.query('CREATE INDEX sessions_expires_at ON sessions (expires_at)');
    // A login at an OpenID provider signs one human in, who may have several.
    await runner.query(`
      CREATE TABLE oidc_logins (
        issuer text NOT NULL,
        subject text NOT NULL,
        account_id uuid NOT NULL CONSTRAINT oidc_logins_account REFERENCES accounts (id),
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (issuer, subject)
      )`);
    // The primary key ensures that the first claim is final.
    await runner.query(`
      CREATE TABLE claims (
        agent_id uuid PRIMARY KEY CONSTRAINT claims_agent REFERENCES accounts (id),
        human_id uuid NOT NULL CONSTRAINT claims_human REFERENCES accounts (id),
        claimed_at timestamptz NOT NULL DEFAULT now()
      )`);
    await runner.query('CREATE INDEX claims_human_id ON claims (human_id)');
    // A human has one open code for an agent. A code is no secret: only the agent it was made for can use it.
    await runner.query(`
      CREATE TABLE claim_codes (
        agent_id uuid NOT NULL CONSTRAINT claim_codes_agent REFERENCES accounts (id),
        human_id uuid NOT NULL CONSTRAINT claim_codes_human REFERENCES accounts (id),
        code text NOT NULL,
        expires_at timestamptz NOT NULL,
        PRIMARY KEY (agent_id, human_id)
      )`);
    await runner.query('CREATE INDEX claim_codes_expires_at ON claim_codes (expires_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DROP TABLE claim_codes, claims, oidc_logins, sessions, challenges, api_keys, wallets, accounts',
    );
  }
}
