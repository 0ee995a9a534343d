import type { OutputOf } from '@market/contracts';
import { findPayerWallet, getWallet, type listWallets } from '@market/contracts/identity';
import { refuse } from '@market/messaging';
import { Database } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { toLinkedWallet } from './linked-wallet.js';
import { Wallets } from './wallets.js';

/** One account's wallets; to anyone else they do not exist. */
@Injectable()
export class ReadWallets {
  constructor(
    private readonly database: Database,
    private readonly wallets: Wallets,
  ) {}

  /** The primary one first, then the oldest. */
  async list(accountId: string): Promise<OutputOf<typeof listWallets>> {
    const rows = await this.wallets.findAll(this.database, accountId);
    return { wallets: [...rows.filter(({ isPrimary }) => isPrimary), ...rows.filter(({ isPrimary }) => !isPrimary)].map(toLinkedWallet) };
  }

  async get(walletId: string, accountId: string): Promise<OutputOf<typeof getWallet>> {
    const row = await this.wallets.findOne(this.database, accountId, walletId);
    if (!row) throw refuse(getWallet, 'wallet_not_found', {});
    return toLinkedWallet(row);
  }

  async findPayer(walletId: string, accountId: string): Promise<OutputOf<typeof findPayerWallet>> {
    const row = await this.wallets.findOne(this.database, accountId, walletId);
    if (!row || row.status !== 'active' || !row.capabilities.includes('payer')) throw refuse(findPayerWallet, 'wallet_not_found', {});
    return { id: row.id, address: row.address, chainType: row.chainType };
  }
}
