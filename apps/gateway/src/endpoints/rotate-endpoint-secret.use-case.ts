import { endpointTouched, rotateEndpointSecret } from '@market/contracts/gateway';
import type { InputOf, OutputOf } from '@market/contracts';
import { HandleRequest, MessageBus, type RequestContext } from '@market/messaging';
import { Idempotency, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { EndpointsRepository } from './endpoints.repository.js';

// At most two secrets sign at a time, so an older one that has not expired is deleted.
const deletePrevious = sql(
  'endpoint-secrets.delete-previous',
  'DELETE FROM endpoint_secrets WHERE listing_id = $1 AND expires_at IS NOT NULL',
);
const expireCurrent = sql(
  'endpoint-secrets.expire-current',
  'UPDATE endpoint_secrets SET expires_at = $2 WHERE listing_id = $1 AND expires_at IS NULL RETURNING key_id',
);

/**
 * Creates a new signing secret. The previous one also signs during the overlap, so that sellers can verify all calls.
 */
@Injectable()
export class RotateEndpointSecret {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly endpoints: EndpointsRepository,
    private readonly bus: MessageBus,
  ) {}

  @HandleRequest(rotateEndpointSecret)
  async execute(
    { listing_id: listingId, overlap_seconds: overlapSeconds }: InputOf<typeof rotateEndpointSecret>,
    context: RequestContext,
  ): Promise<OutputOf<typeof rotateEndpointSecret>> {
    return this.idempotency.run(rotateEndpointSecret, context, async (tx) => {
      await this.endpoints.lockOwn(tx, listingId, context);
      const expiresAt = new Date(Date.now() + overlapSeconds * 1000);
      await tx.query(deletePrevious, [listingId]);
      const [previous] = await tx.query<{ key_id: string }>(expireCurrent, [listingId, expiresAt]);
      const { keyId, secret } = await this.endpoints.addSecret(tx, listingId);
      tx.afterCommit(() => this.bus.signal(endpointTouched, { listingId }));
      return {
        gateway_signing_secret: secret,
        key_id: keyId,
        previous_key_id: previous!.key_id,
        previous_secret_expires_at: expiresAt.toISOString(),
      };
    });
  }
}
