import type { InputOf, OutputOf } from '@market/contracts';
import { findPayerWallet, getWallet, type findSettlementWallets, type listWallets } from '@market/contracts/identity';
import { refuse } from '@market/messaging';
import { Database } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { mayBePaidTo, mayPay } from './wallet-set.js';
import { toLinkedWallet, Wallets, type WalletRow } from './wallets.js';

/** The wallets of an account, for that account only. */
@Injectable()
export class ReadWallets {
  constructor(
    private readonly database: Database,
    private readonly wallets: Wallets,
  ) {}

  /** The primary one first, then the oldest. */
  async list(accountId: string): Promise<OutputOf<typeof listWallets>> {
    const rows = await this.wallets.findAll(this.database, accountId);
    return {
      wallets: [...rows.filter((row) => row.is_primary), ...rows.filter((row) => !row.is_primary)].map(toLinkedWallet),
    };
  }

  async get(walletId: string, accountId: string): Promise<OutputOf<typeof getWallet>> {
    const row = await this.wallets.findOne(this.database, accountId, walletId);
    if (!row) throw refuse(getWallet, 'wallet_not_found', {});
    return toLinkedWallet(row);
  }

  async findPayer(walletId: string, accountId: string): Promise<OutputOf<typeof findPayerWallet>> {
    const row = await this.wallets.findOne(this.database, accountId, walletId);
    if (!row || !mayPay(row)) throw refuse(findPayerWallet, 'wallet_not_found', {});
    return { id: row.id, address: row.address, chainType: row.chain_type };
  }

  /** Two statements. */
  async findForSettlement(
    { payerChainType, payerWalletId, sellerId, payoutChainType }: InputOf<typeof findSettlementWallets>,
    accountId: string,
  ): Promise<OutputOf<typeof findSettlementWallets>> {
    const [own, sellers] = await Promise.all([
      this.wallets.findAll(this.database, accountId),
      this.wallets.findAll(this.database, sellerId),
    ]);
    const payers = own.filter((wallet) => mayPay(wallet) && wallet.chain_type === payerChainType);
    const payouts = sellers.filter((wallet) => mayBePaidTo(wallet) && wallet.chain_type === payoutChainType);
    const payer =
      payerWalletId === undefined
        ? defaultOf(payers, 'is_default_payer')
        : payers.find(({ id }) => id === payerWalletId);
    return { payer: payer?.address ?? null, payout: defaultOf(payouts, 'is_default_payout')?.address ?? null };
  }
}

/** Else the oldest. */
const defaultOf = (wallets: WalletRow[], role: 'is_default_payer' | 'is_default_payout'): WalletRow | undefined =>
  wallets.find((wallet) => wallet[role]) ?? wallets[0];
