import type { AccountType } from '@market/contracts';
import type { PublicProfile } from '@market/contracts/identity';
import { newId } from '@market/kernel';
import { sql, type Tx } from '@market/persistence';
import type { WalletAddress } from '../wallets/wallet-address.js';

// Foreign keys are checked at the end of the statement, so the wallet can be inserted first; the account is inserted
// only if the wallet was free.
const open = sql(
  'accounts.open',
  `WITH wallet AS (
     INSERT INTO wallets (id, account_id, chain_type, address, is_primary, is_default_payer, is_default_payout, capabilities, status)
     VALUES ($1, $2, $3, $4, true, true, true, ARRAY['login', 'recovery', 'payer', 'payout'], 'active')
     ON CONFLICT (address) DO NOTHING RETURNING account_id
   )
   INSERT INTO accounts (id, account_type, role, display_name, registered_at)
   SELECT account_id, $5, 'both', $6, CASE WHEN $7 THEN now() END FROM wallet
   RETURNING id, account_type, display_name, registered_at, created_at`,
);

/** SQL: the columns of a `PublicProfile`, of accounts `a`. */
export const PUBLIC_COLUMNS = 'a.id, a.display_name, a.avatar_url, a.account_type, a.is_verified';
const find = sql('accounts.find-human', `SELECT ${PUBLIC_COLUMNS} FROM accounts a WHERE a.id = $1`);

export async function findHuman(tx: Tx, id: string): Promise<PublicProfile> {
  const [human] = await tx.query<PublicProfile>(find, [id]);
  return human!;
}

const openWithoutWallet = sql(
  'accounts.open-without-wallet',
  `INSERT INTO accounts AS a (id, account_type, role, display_name, registered_at) VALUES ($1, 'human', 'both', $2, now())
   RETURNING ${PUBLIC_COLUMNS}`,
);

/** Opens the account of a human who signs in without a wallet. */
export async function openHumanAccount(tx: Tx, displayName: string): Promise<PublicProfile> {
  const [opened] = await tx.query<PublicProfile>(openWithoutWallet, [newId(), displayName]);
  return opened!;
}

export interface AccountRow {
  id: string;
  account_type: AccountType;
  display_name: string;
  registered_at: Date | null;
  created_at: Date;
}

/**
 * Opens an account with this wallet as its only one, with all capabilities. Returns undefined if the wallet already
 * belongs to an account.
 */
export async function openAccount(
  tx: Tx,
  wallet: WalletAddress,
  account: { type: AccountType; displayName: string; isRegistered: boolean },
): Promise<AccountRow | undefined> {
  const { type, displayName, isRegistered } = account;
  const values = [newId(), newId(), wallet.chainType, wallet.address, type, displayName, isRegistered];
  const [opened] = await tx.query<AccountRow>(open, values);
  return opened;
}
