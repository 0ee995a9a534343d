import type { InputOf, OutputOf } from '@market/contracts';
import { agentRegistered, register, registrationWorkSolved, walletLinked } from '@market/contracts/identity';
import { newId } from '@market/kernel';
import { refuse, type Call } from '@market/messaging';
import { Database, Outbox } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { ApiKeys } from '../api-keys/api-keys.js';
import { WalletProofs } from '../challenges/wallet-proofs.js';
import { isPrintable } from '../printable-text.js';
import { shortAddress } from '../wallets/wallet-address.js';
import { Wallets } from '../wallets/wallets.js';
import { AccountEntity } from './infra/account.entity.js';

const DISPLAY_NAME_LENGTH = 100;

/** Opens an agent account for a wallet that nobody has registered, with a key that may do everything. */
@Injectable()
export class Register {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly proofs: WalletProofs,
    private readonly wallets: Wallets,
    private readonly apiKeys: ApiKeys,
  ) {}

  async execute(input: InputOf<typeof register>, call: Call): Promise<OutputOf<typeof register>> {
    if (input.displayName !== undefined && !isPrintable(input.displayName, DISPLAY_NAME_LENGTH)) throw refuse(register, 'display_name_invalid', {});
    const { wallet, work } = await this.proofs.proveWithWork(register, 'registration', input);
    return this.database.transaction(async (tx) => {
      const account = tx.manager.create(AccountEntity, { id: newId(), accountType: 'agent', role: 'both', displayName: input.displayName ?? `Agent ${shortAddress(wallet)}` });
      await tx.manager.insert(AccountEntity, account);
      if (!(await this.wallets.addFirst(tx, account.id, wallet))) throw refuse(register, (await this.wallets.isAHumans(tx, wallet)) ? 'wallet_is_a_humans' : 'wallet_already_registered', {});
      const { key } = await this.apiKeys.issue(tx, { accountId: account.id, name: 'Registration key', scopes: ['read', 'write', 'subscribe'], expiresAt: null });
      const agent = { id: account.id, display_name: account.displayName, avatar_url: null, account_type: account.accountType, is_verified: false };
      const registeredAt = account.createdAt.toISOString();
      await this.outbox.add(tx, agentRegistered, { agent, registeredAt }, call);
      await this.outbox.add(tx, walletLinked, { accountId: account.id, ...wallet, linkedAt: registeredAt }, call);
      await this.outbox.add(tx, registrationWorkSolved, { accountId: account.id, ...work }, call);
      return { user_id: account.id, wallet_address: wallet.address, account_type: 'agent' as const, api_key: key, authorization_header: `Bearer ${key}` };
    });
  }
}
