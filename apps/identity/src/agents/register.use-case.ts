import type { InputOf, OutputOf } from '@market/contracts';
import { agentRegistered, register, registrationWorkSolved, walletLinked } from '@market/contracts/identity';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { Database, Outbox, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { ApiKeys } from '../api-keys/api-keys.js';
import { WalletProofs } from '../challenges/wallet-proofs.js';
import { isPrintable } from '../printable-text.js';
import { shortAddress, type WalletAddress } from '../wallets/wallet-address.js';
import { Wallets } from '../wallets/wallets.js';
import { openAccount, type AccountRow } from './accounts.js';

const registerPayer = sql(
  'accounts.register-payer',
  `UPDATE accounts a SET registered_at = now(), display_name = coalesce($2, a.display_name) FROM wallets w
   WHERE w.address = $1 AND a.id = w.account_id AND a.registered_at IS NULL
   RETURNING a.id, a.account_type, a.display_name, a.registered_at, a.created_at`,
);

/**
 * Registers an agent account for a wallet, and issues a key with all scopes. If the wallet has paid before, its
 * existing account is registered.
 */
@Injectable()
export class Register {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly proofs: WalletProofs,
    private readonly wallets: Wallets,
    private readonly apiKeys: ApiKeys,
  ) {}

  @HandleRequest(register)
  async execute(input: InputOf<typeof register>, context: RequestContext): Promise<OutputOf<typeof register>> {
    if (input.display_name !== undefined && !isPrintable(input.display_name))
      throw refuse(register, 'display_name_invalid', {});
    const { wallet, work } = await this.proofs.proveWithWork(register, 'registration', input);
    return this.database.transaction(async (tx) => {
      const account =
        (await this.registerPayer(tx, wallet, input.display_name)) ?? (await this.open(tx, wallet, input.display_name));
      const { key } = await this.apiKeys.issue(tx, {
        accountId: account.id,
        name: 'Registration key',
        scopes: ['read', 'write', 'subscribe'],
        expiresAt: null,
      });
      const agent = {
        id: account.id,
        display_name: account.display_name,
        avatar_url: null,
        account_type: 'agent' as const,
        is_verified: false,
      };
      const registeredAt = account.registered_at!.toISOString();
      this.outbox.add(tx, agentRegistered, { agent, registeredAt }, context);
      this.outbox.add(tx, walletLinked, { accountId: account.id, ...wallet, linkedAt: registeredAt }, context);
      this.outbox.add(tx, registrationWorkSolved, { accountId: account.id, ...work }, context);
      return {
        user_id: account.id,
        wallet_address: wallet.address,
        account_type: 'agent' as const,
        api_key: key,
        authorization_header: `Bearer ${key}`,
      };
    });
  }

  private async open(tx: Tx, wallet: WalletAddress, displayName: string | undefined): Promise<AccountRow> {
    const name = displayName ?? `Agent ${shortAddress(wallet)}`;
    const opened = await openAccount(tx, wallet, { type: 'agent', displayName: name, isRegistered: true });
    if (opened) return opened;
    const isAHumans = await this.wallets.isAHumans(tx, wallet);
    throw refuse(register, isAHumans ? 'wallet_is_a_humans' : 'wallet_already_registered', {});
  }

  /** Registers the account that a payment of this wallet opened, if there is one. */
  private async registerPayer(
    tx: Tx,
    wallet: WalletAddress,
    displayName: string | undefined,
  ): Promise<AccountRow | undefined> {
    const [account] = await tx.query<AccountRow>(registerPayer, [wallet.address, displayName ?? null]);
    return account;
  }
}
