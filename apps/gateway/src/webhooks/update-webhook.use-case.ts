import type { InputOf } from '@market/contracts';
import { updateWebhook } from '@market/contracts/gateway';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { Database, FieldCipher } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { EndpointUrlPolicy } from '../egress/endpoint-url.policy.js';
import { sealUrl, toWebhookView, type WebhookView } from './webhook.js';
import { WebhooksRepository } from './webhooks.repository.js';

/** Changes the given fields. `active` also ends what disabled the webhook, and what waited is sent. */
@Injectable()
export class UpdateWebhook {
  constructor(
    private readonly database: Database,
    private readonly webhooks: WebhooksRepository,
    private readonly policy: EndpointUrlPolicy,
    private readonly cipher: FieldCipher,
  ) {}

  @HandleRequest(updateWebhook)
  async execute(
    { webhook_id: id, url, event_types, description, status }: InputOf<typeof updateWebhook>,
    context: RequestContext,
  ): Promise<WebhookView> {
    const now = new Date();
    const changes = {
      ...(url !== undefined && { url_sealed: sealUrl(id, this.allowed(url), this.cipher) }),
      ...(event_types !== undefined && { event_types }),
      ...(description !== undefined && { description }),
      ...(status !== undefined && { status, disabled_reason: null }),
      ...(status === 'active' && { enabled_at: now, due_at: now }),
    };
    return toWebhookView(await this.webhooks.updateOwn(this.database, id, changes, context), this.cipher);
  }

  private allowed(url: string): string {
    const checked = this.policy.check(url);
    if (!checked.ok) throw refuse(updateWebhook, 'webhook_url_refused', { problem: checked.reason });
    return checked.url.href;
  }
}
