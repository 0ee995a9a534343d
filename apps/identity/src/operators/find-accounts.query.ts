import type { InputOf, OutputOf } from '@market/contracts';
import { findAccounts } from '@market/contracts/identity';
import { isUuid } from '@market/kernel';
import { HandleRequest, operatorOf, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { parseWalletAddress } from '../wallets/wallet-address.js';

type Account = OutputOf<typeof findAccounts>['accounts'][number];
export type AccountSummaryRow = Omit<Account, 'created_at'> & { created_at: Date };

export const SUMMARY_COLUMNS = `a.id, a.display_name, a.account_type, w.address AS wallet_address,
  a.suspended_at IS NOT NULL AS is_suspended, a.created_at`;
const ACCOUNTS = `accounts a LEFT JOIN wallets w ON w.account_id = a.id AND w.is_primary`;

const byId = sql(
  'operators.accounts-by-id',
  `SELECT ${SUMMARY_COLUMNS} FROM ${ACCOUNTS} WHERE a.id = $1 OR a.id = (SELECT account_id FROM api_keys WHERE id = $1)`,
);
const byWallet = sql(
  'operators.accounts-by-wallet',
  `SELECT ${SUMMARY_COLUMNS} FROM ${ACCOUNTS} WHERE a.id = (SELECT account_id FROM wallets WHERE address = $1)`,
);
/**
 * Scans all accounts, because operators rarely search by name, and an index of names would have to be updated at every
 * registration.
 */
const byName = sql(
  'operators.accounts-by-name',
  `SELECT ${SUMMARY_COLUMNS} FROM ${ACCOUNTS}
   WHERE starts_with(lower(a.display_name), lower($1)) OR a.id IN (SELECT account_id FROM api_keys WHERE key_prefix = $1)
   ORDER BY a.created_at DESC, a.id LIMIT 20`,
);

@Injectable()
export class FindAccounts {
  constructor(private readonly database: Database) {}

  @HandleRequest(findAccounts)
  async execute(
    { query }: InputOf<typeof findAccounts>,
    context: RequestContext,
  ): Promise<OutputOf<typeof findAccounts>> {
    operatorOf(context);
    return { accounts: (await this.rows(query)).map(toSummary) };
  }

  private rows(query: string): Promise<AccountSummaryRow[]> {
    if (isUuid(query)) return this.database.query(byId, [query]);
    const wallet = parseWalletAddress(query.startsWith('0x') ? query.toLowerCase() : query);
    return this.database.query(wallet ? byWallet : byName, [wallet?.address ?? query]);
  }
}

export const toSummary = ({ created_at, ...row }: AccountSummaryRow): Account => ({
  ...row,
  created_at: created_at.toISOString(),
});
