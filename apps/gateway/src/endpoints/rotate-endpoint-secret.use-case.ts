import { endpointTouched, type rotateEndpointSecret } from '@market/contracts/gateway';
import type { InputOf, OutputOf } from '@market/contracts';
import { MessageBus, type RequestContext } from '@market/messaging';
import { Database, FieldCipher } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { IsNull, Not } from 'typeorm';
import { newSigningSecret } from '../egress/signing-secret.js';
import { EndpointSecretEntity } from './endpoint-secret.entity.js';
import { sealedFor } from './endpoint.js';
import { OwnedEndpoint } from './owned-endpoint.js';

/** Creates a new signing secret. The former one also signs for the time of the overlap, so that no call fails verification. */
@Injectable()
export class RotateEndpointSecret {
  constructor(
    private readonly database: Database,
    private readonly cipher: FieldCipher,
    private readonly owned: OwnedEndpoint,
    private readonly bus: MessageBus,
  ) {}

  async execute(
    { listingId, overlapSeconds }: InputOf<typeof rotateEndpointSecret>,
    context: RequestContext,
  ): Promise<OutputOf<typeof rotateEndpointSecret>> {
    return this.database.transaction(async (tx) => {
      await this.owned.find(tx.manager, listingId, context, true);
      const previous = await tx.manager.findOneByOrFail(EndpointSecretEntity, { listingId, expiresAt: IsNull() });
      const expiresAt = new Date(Date.now() + overlapSeconds * 1000);
      const secret = newSigningSecret();
      // At most two secrets sign at a time, so an older one that still overlaps is deleted.
      await tx.manager.delete(EndpointSecretEntity, { listingId, expiresAt: Not(IsNull()) });
      await tx.manager.update(EndpointSecretEntity, { keyId: previous.keyId }, { expiresAt });
      await tx.manager.insert(EndpointSecretEntity, {
        keyId: secret.keyId,
        listingId,
        secretSealed: this.cipher.encrypt(secret.secret, sealedFor.secret(secret.keyId)),
        expiresAt: null,
      });
      tx.afterCommit(() => this.bus.signal(endpointTouched, { listingId }));
      return {
        gateway_signing_secret: secret.secret,
        key_id: secret.keyId,
        previous_key_id: previous.keyId,
        previous_secret_expires_at: expiresAt.toISOString(),
      };
    });
  }
}
