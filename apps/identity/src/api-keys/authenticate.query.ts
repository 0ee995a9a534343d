import type { InputOf, OutputOf } from '@market/contracts';
import { authenticate } from '@market/contracts/identity';
import { refuse } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { RecordKeyUse } from './record-key-use.job.js';

type Principal = OutputOf<typeof authenticate>;

const findByKey = sql(
  'api-keys.find-principal',
  `SELECT a.id AS "accountId", a.account_type AS "accountType", a.role, a.display_name AS "displayName", k.id AS "keyId", k.scopes
   FROM api_keys k JOIN accounts a ON a.id = k.account_id
   WHERE k.key_hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
);
const findBySession = sql(
  'sessions.find-principal',
  `SELECT a.id AS "accountId", a.account_type AS "accountType", a.role, a.display_name AS "displayName", s.id AS "keyId", ARRAY[]::text[] AS scopes
   FROM sessions s JOIN accounts a ON a.id = s.account_id
   WHERE s.token_hash = $1 AND s.expires_at > now()`,
);

/** Who a key or a session is. Of an unknown, a revoked and an expired one the same is said. */
@Injectable()
export class Authenticate {
  constructor(
    private readonly database: Database,
    private readonly keyUse: RecordKeyUse,
  ) {}

  async execute({ keyHash, kind }: InputOf<typeof authenticate>): Promise<Principal> {
    const [principal] = await this.database.query<Principal>(kind === 'session' ? findBySession : findByKey, [
      Buffer.from(keyHash, 'hex'),
    ]);
    if (!principal) throw refuse(authenticate, 'key_invalid', {});
    if (kind === 'api_key') this.keyUse.note(principal.keyId);
    return principal;
  }
}
