import type { AccountType, InputOf, OutputOf } from '@market/contracts';
import { apiKeyRevoked, recover } from '@market/contracts/identity';
import { HandleRequest, MessageBus, refuse } from '@market/messaging';
import { Database, sql, type Tx } from '@market/persistence';
import { Injectable, Logger } from '@nestjs/common';
import { ApiKeys } from '../api-keys/api-keys.js';
import { WalletProofs } from '../challenges/wallet-proofs.js';
import { mayRecover } from '../wallets/wallet-set.js';
import { Wallets } from '../wallets/wallets.js';

// FOR UPDATE of the account prevents concurrent creation of keys, so that all keys are revoked.
const lockHolder = sql(
  'accounts.lock-holder',
  `SELECT a.id, a.account_type
   FROM wallets w JOIN accounts a ON a.id = w.account_id WHERE w.address = $1 AND a.registered_at IS NOT NULL FOR UPDATE OF a`,
);
const revokeAll = sql(
  'api-keys.revoke-all',
  `UPDATE api_keys SET revoked_at = clock_timestamp()
   WHERE account_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
   RETURNING encode(key_hash, 'hex') AS "keyHash"`,
);

interface HolderRow {
  id: string;
  account_type: AccountType;
}

/**
 * Issues a new key to an agent that lost its key, if a wallet with the capability to recover the account signs. The
 * other keys remain valid unless the agent asks to revoke them.
 */
@Injectable()
export class Recover {
  private readonly logger = new Logger('Recover');

  constructor(
    private readonly database: Database,
    private readonly bus: MessageBus,
    private readonly proofs: WalletProofs,
    private readonly wallets: Wallets,
    private readonly apiKeys: ApiKeys,
  ) {}

  @HandleRequest(recover)
  async execute(input: InputOf<typeof recover>): Promise<OutputOf<typeof recover>> {
    const { wallet } = await this.proofs.proveWithWork(recover, 'recovery', input);
    return this.database.transaction(async (tx) => {
      const [holder] = await tx.query<HolderRow>(lockHolder, [wallet.address]);
      if (!holder) throw refuse(recover, 'wallet_not_registered', {});
      if (holder.account_type === 'human') throw refuse(recover, 'wallet_is_a_humans', {});
      const accountId = holder.id;
      const recovering = (await this.wallets.findAll(tx, accountId)).find(({ address }) => address === wallet.address);
      if (!recovering || !mayRecover(recovering)) throw refuse(recover, 'wallet_cannot_recover', {});
      const revoked = input.revoke_existing ? await this.revokeAll(tx, accountId) : 0;
      const { key } = await this.apiKeys.issue(tx, {
        accountId,
        name: 'Recovery key',
        scopes: ['read', 'write', 'subscribe'],
        expiresAt: null,
      });
      tx.afterCommit(() =>
        this.logger.log(`account ${accountId} recovered by wallet ${wallet.address}, ${revoked} keys revoked`),
      );
      return {
        user_id: accountId,
        wallet_address: wallet.address,
        account_type: 'agent' as const,
        api_key: key,
        authorization_header: `Bearer ${key}`,
        revoked_keys: revoked,
      };
    });
  }

  private async revokeAll(tx: Tx, accountId: string): Promise<number> {
    const revoked = await tx.query<{ keyHash: string }>(revokeAll, [accountId]);
    tx.afterCommit(() => revoked.forEach((key) => this.bus.signal(apiKeyRevoked, key)));
    return revoked.length;
  }
}
