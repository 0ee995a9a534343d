import type { AccountType, InputOf, OutputOf } from '@market/contracts';
import { openPayerAccount, walletLinked } from '@market/contracts/identity';
import { newId } from '@market/kernel';
import { refuse, type RequestContext } from '@market/messaging';
import { Database, Outbox, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { parseWalletAddress, shortAddress, type WalletAddress } from '../wallets/wallet-address.js';

const findHolder = sql(
  'accounts.find-holder',
  `SELECT a.id, a.account_type AS "accountType", w.status = 'active' AND 'payer' = ANY(w.capabilities) AS "mayPay" FROM wallets w JOIN accounts a ON a.id = w.account_id WHERE w.address = $1`,
);

// Its references are checked when the statement is done, so that the wallet can say whether there is an account to open.
const open = sql(
  'accounts.open-for-payer',
  `WITH wallet AS (
     INSERT INTO wallets (id, account_id, chain_type, address, is_primary, is_default_payer, is_default_payout, capabilities, status)
     VALUES ($1, $2, $3, $4, true, true, true, ARRAY['login', 'recovery', 'payer', 'payout'], 'active')
     ON CONFLICT (address) DO NOTHING RETURNING account_id
   )
   INSERT INTO accounts (id, account_type, role, display_name, registered_at) SELECT account_id, 'agent', 'both', $5, NULL FROM wallet
   RETURNING id, account_type AS "accountType", true AS "mayPay", created_at AS "createdAt"`,
);

interface Holder {
  id: string;
  accountType: AccountType;
  mayPay: boolean;
}

/**
 * The account of a wallet that has signed a payment, opened where there is none: it has no key until its holder registers.
 */
@Injectable()
export class OpenPayerAccount {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
  ) {}

  async execute(
    { walletAddress }: InputOf<typeof openPayerAccount>,
    context: RequestContext,
  ): Promise<OutputOf<typeof openPayerAccount>> {
    const wallet = parseWalletAddress(walletAddress);
    if (!wallet) throw refuse(openPayerAccount, 'wallet_invalid', {});
    const holder = (await this.findHolder(wallet.address)) ?? (await this.open(wallet, context));
    if (holder.accountType === 'human') throw refuse(openPayerAccount, 'wallet_is_a_humans', {});
    return { accountId: holder.id, mayPay: holder.mayPay };
  }

  private async findHolder(address: string): Promise<Holder | undefined> {
    const [holder] = await this.database.query<Holder>(findHolder, [address]);
    return holder;
  }

  /** Of two first payments at once one opens it. */
  private async open(wallet: WalletAddress, context: RequestContext): Promise<Holder> {
    const opened = await this.database.transaction(async (tx) => {
      const [account] = await tx.query<Holder & { createdAt: Date }>(open, [
        newId(),
        newId(),
        wallet.chainType,
        wallet.address,
        `Agent ${shortAddress(wallet)}`,
      ]);
      if (account)
        await this.outbox.add(
          tx,
          walletLinked,
          { accountId: account.id, ...wallet, linkedAt: account.createdAt.toISOString() },
          context,
        );
      return account;
    });
    return opened ?? (await this.findHolder(wallet.address))!;
  }
}
