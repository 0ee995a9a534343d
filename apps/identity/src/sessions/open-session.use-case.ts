import type { InputOf, OutputOf } from '@market/contracts';
import {
  hashSessionToken,
  openSession,
  sessionTokenOf,
  walletLinked,
  type PublicProfile,
} from '@market/contracts/identity';
import { newId } from '@market/kernel';
import { refuse, type RequestContext } from '@market/messaging';
import { Database, Outbox, sql, type Tx } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { openAccount } from '../agents/accounts.js';
import { WalletProofs } from '../challenges/wallet-proofs.js';
import { identityConfig, type IdentityConfig } from '../config.js';
import { newCredentialSecret } from '../credential-secret.js';
import { shortAddress, type WalletAddress } from '../wallets/wallet-address.js';

/** Serializes concurrent first sign-ins of a wallet, so that one of them opens the account. */
const lockAddress = sql('sessions.lock-address', 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))');
const findHolder = sql(
  'sessions.find-holder',
  `SELECT a.id, a.display_name, a.avatar_url, a.account_type, a.is_verified
   FROM wallets w JOIN accounts a ON a.id = w.account_id WHERE w.address = $1`,
);
const insert = sql(
  'sessions.insert',
  `INSERT INTO sessions (id, account_id, token_hash, expires_at)
   VALUES ($1, $2, $3, now() + make_interval(secs => $4)) RETURNING expires_at`,
);

/** Signs a human in. The first sign-in opens the account. */
@Injectable()
export class OpenSession {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly proofs: WalletProofs,
    @Inject(identityConfig.token) private readonly config: IdentityConfig,
  ) {}

  async execute(input: InputOf<typeof openSession>, context: RequestContext): Promise<OutputOf<typeof openSession>> {
    const { wallet } = await this.proofs.prove(openSession, 'session', input);
    return this.database.transaction(async (tx) => {
      await tx.query(lockAddress, [wallet.address]);
      const [holder] = await tx.query<PublicProfile>(findHolder, [wallet.address]);
      const account = holder ?? (await this.openAccount(tx, wallet, context));
      if (account.account_type === 'agent') throw refuse(openSession, 'wallet_is_an_agents', {});
      const token = sessionTokenOf(newCredentialSecret());
      const [session] = await tx.query<{ expires_at: Date }>(insert, [
        newId(),
        account.id,
        Buffer.from(hashSessionToken(token)!, 'hex'),
        this.config.sessionTtlSeconds,
      ]);
      return {
        session_token: token,
        account: { ...account, wallet_address: wallet.address },
        expires_at: session!.expires_at.toISOString(),
      };
    });
  }

  private async openAccount(tx: Tx, wallet: WalletAddress, context: RequestContext): Promise<PublicProfile> {
    const displayName = `Operator ${shortAddress(wallet)}`;
    const account = await openAccount(tx, wallet, { type: 'human', displayName, isRegistered: true });
    // Only a concurrent registration can have taken the wallet after the lookup.
    if (!account) throw refuse(openSession, 'wallet_is_an_agents', {});
    this.outbox.add(
      tx,
      walletLinked,
      { accountId: account.id, ...wallet, linkedAt: account.created_at.toISOString() },
      context,
    );
    return {
      id: account.id,
      display_name: displayName,
      avatar_url: null,
      account_type: 'human',
      is_verified: false,
    };
  }
}
