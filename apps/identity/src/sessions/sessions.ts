import type { OutputOf } from '@market/contracts';
import { hashSessionToken, sessionTokenOf, type openSession, type PublicProfile } from '@market/contracts/identity';
import { newId } from '@market/kernel';
import { sql, type Tx } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { identityConfig, type IdentityConfig } from '../config.js';
import { newCredentialSecret } from '../credential-secret.js';

const lock = sql('sessions.lock', 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))');
const insert = sql(
  'sessions.insert',
  `INSERT INTO sessions (id, account_id, token_hash, expires_at)
   VALUES ($1, $2, $3, now() + make_interval(secs => $4)) RETURNING expires_at`,
);

/** Opens sessions of humans. */
@Injectable()
export class Sessions {
  constructor(@Inject(identityConfig.token) private readonly config: IdentityConfig) {}

  /** Serializes concurrent first sign-ins with the same wallet or login, so that one of them opens the account. */
  async lockSignIn(tx: Tx, signIn: string): Promise<void> {
    await tx.query(lock, [signIn]);
  }

  async open(tx: Tx, account: PublicProfile, wallet_address: string | null): Promise<OutputOf<typeof openSession>> {
    const token = sessionTokenOf(newCredentialSecret());
    const [session] = await tx.query<{ expires_at: Date }>(insert, [
      newId(),
      account.id,
      Buffer.from(hashSessionToken(token)!, 'hex'),
      this.config.sessionTtlSeconds,
    ]);
    return {
      session_token: token,
      account: { ...account, wallet_address },
      expires_at: session!.expires_at.toISOString(),
    };
  }
}
