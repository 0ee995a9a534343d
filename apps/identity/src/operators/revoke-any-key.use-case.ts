import type { InputOf, OutputOf } from '@market/contracts';
import { apiKeyRevoked, revokeAnyKey } from '@market/contracts/identity';
import { HandleRequest, MessageBus, operatorOf, refuse, type RequestContext } from '@market/messaging';
import { Database, recordOperatorAction, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

const revoke = sql(
  'operators.revoke-key',
  `WITH locked AS MATERIALIZED (SELECT id, revoked_at FROM api_keys WHERE id = $1 FOR UPDATE)
   UPDATE api_keys k SET revoked_at = coalesce(k.revoked_at, clock_timestamp()) FROM locked WHERE k.id = locked.id
   RETURNING encode(k.key_hash, 'hex') AS "keyHash", locked.revoked_at IS NULL AS changed`,
);

/** Revokes any API key for an operator. */
@Injectable()
export class RevokeAnyKey {
  constructor(
    private readonly database: Database,
    private readonly bus: MessageBus,
  ) {}

  @HandleRequest(revokeAnyKey)
  execute(
    { keyId, reason }: InputOf<typeof revokeAnyKey>,
    context: RequestContext,
  ): Promise<OutputOf<typeof revokeAnyKey>> {
    const operator = operatorOf(context);
    return this.database.transaction(async (tx) => {
      const [key] = await tx.query<{ keyHash: string; changed: boolean }>(revoke, [keyId]);
      if (!key) throw refuse(revokeAnyKey, 'api_key_not_found', {});
      const { keyHash, changed } = key;
      if (changed) await recordOperatorAction(tx, { operator, command: 'key revoke', subject: keyId, reason });
      tx.afterCommit(() => this.bus.signal(apiKeyRevoked, { keyHash }));
      return { id: keyId, revoked: true, changed };
    });
  }
}
