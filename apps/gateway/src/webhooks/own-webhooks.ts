import type { InputOf, OutputOf } from '@market/contracts';
import { deleteWebhook, getWebhook, listWebhooks } from '@market/contracts/gateway';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Database, FieldCipher } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { toWebhookView } from './webhook.js';
import { WebhooksRepository } from './webhooks.repository.js';

/** The webhooks of an account, for that account only. */
@Injectable()
export class OwnWebhooks {
  constructor(
    private readonly database: Database,
    private readonly cipher: FieldCipher,
    private readonly webhooks: WebhooksRepository,
  ) {}

  @HandleRequest(listWebhooks)
  async list(_input: InputOf<typeof listWebhooks>, context: RequestContext): Promise<OutputOf<typeof listWebhooks>> {
    const rows = await this.webhooks.list(this.database, principalOf(context).accountId);
    return { webhooks: rows.map((row) => toWebhookView(row, this.cipher)) };
  }

  @HandleRequest(getWebhook)
  async get({ webhook_id }: InputOf<typeof getWebhook>, context: RequestContext): Promise<OutputOf<typeof getWebhook>> {
    return toWebhookView(await this.webhooks.findOwn(this.database, webhook_id, context), this.cipher);
  }

  @HandleRequest(deleteWebhook)
  async delete(
    { webhook_id }: InputOf<typeof deleteWebhook>,
    context: RequestContext,
  ): Promise<OutputOf<typeof deleteWebhook>> {
    await this.webhooks.deleteOwn(this.database, webhook_id, context);
    return { id: webhook_id, deleted: true };
  }
}
