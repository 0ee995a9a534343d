import type { InputOf, OutputOf } from '@market/contracts';
import {
  findPaidSeller,
  findPayerWallet,
  findPayoutWallets,
  findSettlementWallets,
  getWallet,
  listWallets,
} from '@market/contracts/identity';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { parseWalletAddress, type ChainType } from './wallet-address.js';
import { mayBePaidTo, mayPay } from './wallet-set.js';
import { toLinkedWallet, Wallets, type WalletRow } from './wallets.js';

/** The wallets of an account, for that account only. */
@Injectable()
export class ReadWallets {
  constructor(
    private readonly database: Database,
    private readonly wallets: Wallets,
  ) {}

  /** Returns the wallets, the primary one first, then oldest first. */
  @HandleRequest(listWallets)
  async list(_input: InputOf<typeof listWallets>, context: RequestContext): Promise<OutputOf<typeof listWallets>> {
    const rows = await this.wallets.findAll(this.database, principalOf(context).accountId);
    return {
      wallets: [...rows.filter((row) => row.is_primary), ...rows.filter((row) => !row.is_primary)].map(toLinkedWallet),
    };
  }

  @HandleRequest(getWallet)
  async get(
    { wallet_id: walletId }: InputOf<typeof getWallet>,
    context: RequestContext,
  ): Promise<OutputOf<typeof getWallet>> {
    const row = await this.wallets.findOne(this.database, principalOf(context).accountId, walletId);
    if (!row) throw refuse(getWallet, 'wallet_not_found', {});
    return toLinkedWallet(row);
  }

  @HandleRequest(findPayerWallet)
  async findPayer(
    { walletId }: InputOf<typeof findPayerWallet>,
    context: RequestContext,
  ): Promise<OutputOf<typeof findPayerWallet>> {
    const row = await this.wallets.findOne(this.database, principalOf(context).accountId, walletId);
    if (!row || !mayPay(row)) throw refuse(findPayerWallet, 'wallet_not_found', {});
    return { id: row.id, address: row.address, chainType: row.chain_type };
  }

  @HandleRequest(findSettlementWallets)
  async findForSettlement(
    { payerChainType, payerWalletId, sellerId, payoutChainType }: InputOf<typeof findSettlementWallets>,
    context: RequestContext,
  ): Promise<OutputOf<typeof findSettlementWallets>> {
    const [own, sellers] = await Promise.all([
      this.wallets.findAll(this.database, principalOf(context).accountId),
      this.wallets.findAll(this.database, sellerId),
    ]);
    const payers = own.filter((wallet) => mayPay(wallet) && wallet.chain_type === payerChainType);
    const payer =
      payerWalletId === undefined
        ? defaultOf(payers, 'is_default_payer')
        : payers.find(({ id }) => id === payerWalletId);
    return { payer: payer?.address ?? null, payout: payoutOf(sellers, payoutChainType)?.address ?? null };
  }

  @HandleRequest(findPayoutWallets)
  async findPayouts({
    sellerIds,
    chainType,
  }: InputOf<typeof findPayoutWallets>): Promise<OutputOf<typeof findPayoutWallets>> {
    const wallets = await this.wallets.findAllOf(this.database, sellerIds);
    const payout = (sellerId: string): WalletRow | undefined =>
      payoutOf(
        wallets.filter(({ account_id }) => account_id === sellerId),
        chainType,
      );
    return { payouts: sellerIds.map((sellerId) => payout(sellerId)?.address ?? null) };
  }

  @HandleRequest(findPaidSeller)
  async findPaidSeller({ address: text }: InputOf<typeof findPaidSeller>): Promise<OutputOf<typeof findPaidSeller>> {
    const wallet = parseWalletAddress(text.toLowerCase().startsWith('0x') ? text.toLowerCase() : text);
    const ownerId = wallet && (await this.wallets.findOwner(this.database, wallet.address));
    if (!ownerId) return { sellerId: null };
    const payout = payoutOf(await this.wallets.findAll(this.database, ownerId), wallet.chainType);
    return { sellerId: payout?.address === wallet.address ? ownerId : null };
  }
}

/** The wallet of a seller that receives payments on this type of chain. */
const payoutOf = (wallets: WalletRow[], chainType: ChainType): WalletRow | undefined =>
  defaultOf(
    wallets.filter((wallet) => mayBePaidTo(wallet) && wallet.chain_type === chainType),
    'is_default_payout',
  );

/** The default wallet for the role, or else the oldest. */
const defaultOf = (wallets: WalletRow[], role: 'is_default_payer' | 'is_default_payout'): WalletRow | undefined =>
  wallets.find((wallet) => wallet[role]) ?? wallets[0];
