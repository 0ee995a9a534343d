import type { InputOf, OutputOf } from '@market/contracts';
import { createWebhook } from '@market/contracts/gateway';
import { readEvents } from '@market/contracts/reputation';
import { newId } from '@market/kernel';
import { HandleRequest, MessageBus, principalOf, refuse, type RequestContext } from '@market/messaging';
import { FieldCipher, Idempotency, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { EndpointUrlPolicy } from '../egress/endpoint-url.policy.js';
import { newSealedSecret, sealUrl, toWebhookView, webhookColumns, type WebhookRow } from './webhook.js';
import { WebhooksRepository } from './webhooks.repository.js';

const MAX_WEBHOOKS = 10;

/** Lets one request of an account at a time count and create. */
const lockAccount = sql('webhooks.lock-account', 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))');
const insert = sql(
  'webhooks.insert',
  `INSERT INTO webhooks AS w (id, account_id, url_sealed, description, event_types, secret_sealed, last_event_id)
   VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ${webhookColumns}`,
);

/** Creates a webhook that gets what happens from now on. */
@Injectable()
export class CreateWebhook {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly webhooks: WebhooksRepository,
    private readonly policy: EndpointUrlPolicy,
    private readonly cipher: FieldCipher,
    private readonly bus: MessageBus,
  ) {}

  @HandleRequest(createWebhook)
  async execute(
    { url, event_types = null, description = null }: InputOf<typeof createWebhook>,
    context: RequestContext,
  ): Promise<OutputOf<typeof createWebhook>> {
    const checked = this.policy.check(url);
    if (!checked.ok) throw refuse(createWebhook, 'webhook_url_refused', { problem: checked.reason });
    const { accountId } = principalOf(context);
    const { latest } = await this.bus.request(readEvents, { accountId, after: 'now', page: 1, limit: 1 }, context);
    return this.idempotency.run(createWebhook, context, async (tx) => {
      await tx.query(lockAccount, [`webhooks|${accountId}`]);
      if ((await this.webhooks.list(tx, accountId)).length >= MAX_WEBHOOKS)
        throw refuse(createWebhook, 'too_many_webhooks', { maximum: MAX_WEBHOOKS });
      const id = newId();
      const { secret, sealed } = newSealedSecret(id, this.cipher);
      const urlSealed = sealUrl(id, checked.url.href, this.cipher);
      const values = [id, accountId, urlSealed, description, event_types, sealed, latest];
      const [row] = await tx.query<WebhookRow>(insert, values);
      return { ...toWebhookView(row!, this.cipher), secret };
    });
  }
}
