import type { InputOf, OutputOf } from '@market/contracts';
import { apiKeyRevoked, revokeApiKey } from '@market/contracts/identity';
import { HandleRequest, MessageBus, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

/**
 * The time is read while the row is locked, so that it is after the creation of any key that was created with this one.
 */
const revoke = sql(
  'api-keys.revoke',
  `WITH locked AS MATERIALIZED (SELECT id FROM api_keys WHERE id = $1 AND account_id = $2 FOR UPDATE)
   UPDATE api_keys k SET revoked_at = coalesce(k.revoked_at, clock_timestamp())
   FROM locked WHERE k.id = locked.id RETURNING encode(k.key_hash, 'hex') AS "keyHash"`,
);

/** Revokes a key permanently; repeating it changes nothing. */
@Injectable()
export class RevokeApiKey {
  constructor(
    private readonly database: Database,
    private readonly bus: MessageBus,
  ) {}

  @HandleRequest(revokeApiKey)
  async execute(
    { key_id: keyId }: InputOf<typeof revokeApiKey>,
    context: RequestContext,
  ): Promise<OutputOf<typeof revokeApiKey>> {
    const [revoked] = await this.database.query<{ keyHash: string }>(revoke, [keyId, principalOf(context).accountId]);
    if (!revoked) throw refuse(revokeApiKey, 'api_key_not_found', {});
    this.bus.signal(apiKeyRevoked, revoked);
    return { id: keyId, revoked: true };
  }
}
