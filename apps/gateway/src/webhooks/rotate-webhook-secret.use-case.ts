import type { InputOf, OutputOf } from '@market/contracts';
import { rotateWebhookSecret } from '@market/contracts/gateway';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { FieldCipher, Idempotency } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { newSealedSecret } from './webhook.js';
import { WebhooksRepository } from './webhooks.repository.js';

/** Creates a new secret. The previous one also signs during the overlap; one that was rotated before it ends now. */
@Injectable()
export class RotateWebhookSecret {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly webhooks: WebhooksRepository,
    private readonly cipher: FieldCipher,
  ) {}

  @HandleRequest(rotateWebhookSecret)
  async execute(
    { webhook_id: id, overlap_seconds: overlapSeconds }: InputOf<typeof rotateWebhookSecret>,
    context: RequestContext,
  ): Promise<OutputOf<typeof rotateWebhookSecret>> {
    return this.idempotency.run(rotateWebhookSecret, context, async (tx) => {
      // Locks the row, so that of two rotations each has a successor or is the last.
      const { secret_sealed } = await this.webhooks.updateOwn(tx, id, {}, context);
      const { secret, sealed } = newSealedSecret(id, this.cipher);
      const expiresAt = new Date(Date.now() + overlapSeconds * 1_000);
      const changes = {
        secret_sealed: sealed,
        previous_secret_sealed: secret_sealed,
        previous_secret_expires_at: expiresAt,
      };
      await this.webhooks.updateOwn(tx, id, changes, context);
      return { secret, previous_secret_expires_at: expiresAt.toISOString() };
    });
  }
}
