import type { AccountType, InputOf, OutputOf } from '@market/contracts';
import { openPayerAccount, walletLinked } from '@market/contracts/identity';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { Database, Outbox, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { parseWalletAddress, shortAddress, type WalletAddress } from '../wallets/wallet-address.js';
import { openAccount } from './accounts.js';

const findHolder = sql(
  'accounts.find-holder',
  `SELECT a.id, a.account_type, w.status = 'active' AND 'payer' = ANY(w.capabilities) AND a.suspended_at IS NULL AS may_pay
   FROM wallets w JOIN accounts a ON a.id = w.account_id WHERE w.address = $1`,
);

interface HolderRow {
  id: string;
  account_type: AccountType;
  may_pay: boolean;
}

/**
 * Returns the account of a wallet that has signed a payment. If there is none, it opens one, which has no key until the
 * wallet's holder registers.
 */
@Injectable()
export class OpenPayerAccount {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
  ) {}

  @HandleRequest(openPayerAccount)
  async execute(
    { walletAddress }: InputOf<typeof openPayerAccount>,
    context: RequestContext,
  ): Promise<OutputOf<typeof openPayerAccount>> {
    const wallet = parseWalletAddress(walletAddress);
    if (!wallet) throw refuse(openPayerAccount, 'wallet_invalid', {});
    const holder = (await this.findHolder(wallet.address)) ?? (await this.open(wallet, context));
    if (holder.account_type === 'human') throw refuse(openPayerAccount, 'wallet_is_a_humans', {});
    return { accountId: holder.id, mayPay: holder.may_pay };
  }

  private async findHolder(address: string): Promise<HolderRow | undefined> {
    const [holder] = await this.database.query<HolderRow>(findHolder, [address]);
    return holder;
  }

  /** If two requests open the account concurrently, one of them finds that of the other. */
  private async open(wallet: WalletAddress, context: RequestContext): Promise<HolderRow> {
    const opened = await this.database.transaction(async (tx) => {
      const displayName = `Agent ${shortAddress(wallet)}`;
      const account = await openAccount(tx, wallet, { type: 'agent', displayName, isRegistered: false });
      if (account)
        this.outbox.add(
          tx,
          walletLinked,
          { accountId: account.id, ...wallet, linkedAt: account.created_at.toISOString() },
          context,
        );
      return account && { ...account, may_pay: true };
    });
    return opened ?? (await this.findHolder(wallet.address))!;
  }
}
