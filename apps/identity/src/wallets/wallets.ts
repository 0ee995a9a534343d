import { walletCapability, type LinkedWallet, type WalletCapability } from '@market/contracts/identity';
import { newId } from '@market/kernel';
import { sql, type Database, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import type { WalletAddress } from './wallet-address.js';
import type { WalletState } from './wallet-set.js';

export type WalletRow = Omit<LinkedWallet, 'created_at' | 'verified_at'> & { created_at: Date; verified_at: Date };

const COLUMNS =
  'id, address, chain_type, label, is_primary, is_default_payer, is_default_payout, capabilities, status, verified_at, created_at';

const insertLinked = sql(
  'wallets.insert-linked',
  `INSERT INTO wallets (id, account_id, chain_type, address, label, capabilities, status) VALUES ($1, $2, $3, $4, $5, $6, 'active')
   ON CONFLICT (address) DO NOTHING RETURNING ${COLUMNS}`,
);
const findHuman = sql(
  'wallets.find-human',
  "SELECT a.id FROM wallets w JOIN accounts a ON a.id = w.account_id WHERE w.address = $1 AND a.account_type = 'human'",
);
// Ids are ordered by time, so the oldest wallet has the smallest id.
const findAll = sql('wallets.find-all', `SELECT ${COLUMNS} FROM wallets WHERE account_id = $1 ORDER BY id`);
const findAllOf = sql(
  'wallets.find-all-of',
  `SELECT account_id, ${COLUMNS} FROM wallets WHERE account_id = ANY($1::uuid[]) ORDER BY id`,
);
const findOwner = sql('wallets.find-owner', 'SELECT account_id FROM wallets WHERE address = $1');
const findOne = sql('wallets.find-one', `SELECT ${COLUMNS} FROM wallets WHERE account_id = $1 AND id = $2`);
// Not FOR UPDATE, which would also block new rows that refer to the account.
const lockAccount = sql('wallets.lock-account', 'SELECT id FROM accounts WHERE id = $1 FOR NO KEY UPDATE');
// PostgreSQL checks a unique index row by row, so a role is removed from all wallets before it is assigned.
const clearRoles = sql(
  'wallets.clear-roles',
  'UPDATE wallets SET is_primary = false, is_default_payer = false, is_default_payout = false WHERE account_id = $1',
);
const store = sql(
  'wallets.store',
  `UPDATE wallets
   SET label = $2, is_primary = $3, is_default_payer = $4, is_default_payout = $5, capabilities = $6, status = $7
   WHERE id = $1`,
);

/** Adds, links and finds wallets of accounts. */
@Injectable()
export class Wallets {
  async isAHumans(tx: Tx, wallet: WalletAddress): Promise<boolean> {
    return (await tx.query(findHuman, [wallet.address])).length === 1;
  }

  /** Returns null if the wallet already belongs to an account. */
  async addLinked(
    tx: Tx,
    accountId: string,
    wallet: WalletAddress,
    label: string | null,
    capabilities: readonly WalletCapability[],
  ): Promise<WalletRow | null> {
    const [row] = await tx.query<WalletRow>(insertLinked, [
      newId(),
      accountId,
      wallet.chainType,
      wallet.address,
      label,
      capabilities,
    ]);
    return row ?? null;
  }

  /** Returns the wallets of an account, oldest first. */
  findAll(from: Pick<Database | Tx, 'query'>, accountId: string): Promise<WalletRow[]> {
    return from.query<WalletRow>(findAll, [accountId]);
  }

  /** Returns the wallets of several accounts, oldest first. */
  findAllOf(
    from: Pick<Database | Tx, 'query'>,
    accountIds: readonly string[],
  ): Promise<(WalletRow & { account_id: string })[]> {
    return from.query<WalletRow & { account_id: string }>(findAllOf, [accountIds]);
  }

  async findOwner(from: Pick<Database | Tx, 'query'>, address: string): Promise<string | undefined> {
    const [row] = await from.query<{ account_id: string }>(findOwner, [address]);
    return row?.account_id;
  }

  async findOne(
    from: Pick<Database | Tx, 'query'>,
    accountId: string,
    walletId: string,
  ): Promise<WalletRow | undefined> {
    const [row] = await from.query<WalletRow>(findOne, [accountId, walletId]);
    return row;
  }

  /** Locks and returns the account's wallets, oldest first. */
  async lockAll(tx: Tx, accountId: string): Promise<WalletRow[]> {
    await tx.query(lockAccount, [accountId]);
    return this.findAll(tx, accountId);
  }

  async store(tx: Tx, accountId: string, wallets: readonly WalletState[]): Promise<void> {
    await tx.query(clearRoles, [accountId]);
    for (const wallet of wallets) {
      const { id, label, is_primary, is_default_payer, is_default_payout, capabilities, status } = wallet;
      await tx.query(store, [id, label, is_primary, is_default_payer, is_default_payout, capabilities, status]);
    }
  }
}

export const toLinkedWallet = (row: WalletRow): LinkedWallet => ({
  ...row,
  verified_at: row.verified_at.toISOString(),
  created_at: row.created_at.toISOString(),
});

/** Removes repetitions and sorts the capabilities. */
export const normalizeCapabilities = (capabilities: readonly WalletCapability[]): WalletCapability[] =>
  walletCapability.options.filter((known) => capabilities.includes(known));
