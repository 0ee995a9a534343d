import { newId } from '@market/kernel';
import { sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import type { WalletAddress } from './wallet-address.js';

const insertFirst = sql(
  'wallets.insert-first',
  `INSERT INTO wallets (id, account_id, chain_type, address, is_primary, is_default_payer, is_default_payout, capabilities, status)
   VALUES ($1, $2, $3, $4, true, true, true, ARRAY['login', 'recovery', 'payer', 'payout'], 'active')
   ON CONFLICT (address) DO NOTHING RETURNING id`,
);

/** The front door of wallets. */
@Injectable()
export class Wallets {
  /** Gives a new account its proven wallet for everything; false when the wallet belongs to an account already. */
  async addFirst(tx: Tx, accountId: string, wallet: WalletAddress): Promise<boolean> {
    const inserted = await tx.query(insertFirst, [newId(), accountId, wallet.chainType, wallet.address]);
    return inserted.length === 1;
  }
}
