import { getWebhook } from '@market/contracts/gateway';
import { principalOf, refuse, type RequestContext } from '@market/messaging';
import { sql, type Database, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { webhookColumns, type WebhookRow } from './webhook.js';

const listOwn = sql(
  'webhooks.list-own',
  `SELECT ${webhookColumns} FROM webhooks w WHERE w.account_id = $1 ORDER BY w.id`,
);
const findOwn = sql(
  'webhooks.find-own',
  `SELECT ${webhookColumns} FROM webhooks w WHERE w.id = $1 AND w.account_id = $2`,
);
const deleteOwn = sql(
  'webhooks.delete-own',
  'DELETE FROM webhooks w WHERE w.id = $1 AND w.account_id = $2 RETURNING id',
);

@Injectable()
export class WebhooksRepository {
  list(from: Pick<Database, 'query'>, accountId: string): Promise<WebhookRow[]> {
    return from.query<WebhookRow>(listOwn, [accountId]);
  }

  /** @throws Refusal `webhook_not_found`. */
  async findOwn(from: Pick<Database, 'query'>, webhookId: string, context: RequestContext): Promise<WebhookRow> {
    return found(await from.query<WebhookRow>(findOwn, [webhookId, principalOf(context).accountId]));
  }

  /** @throws Refusal `webhook_not_found`. */
  async updateOwn(
    from: Pick<Tx, 'query'>,
    webhookId: string,
    changes: Partial<WebhookRow & { enabled_at: Date; due_at: Date }>,
    context: RequestContext,
  ): Promise<WebhookRow> {
    const columns = Object.keys(changes).map((column, index) => `${column} = $${index + 3}, `);
    const text = `UPDATE webhooks w SET ${columns.join('')}updated_at = now()
      WHERE w.id = $1 AND w.account_id = $2 RETURNING ${webhookColumns}`;
    const values = [webhookId, principalOf(context).accountId, ...Object.values(changes)];
    return found(await from.query<WebhookRow>({ text }, values));
  }

  /** Its deliveries are no longer shown, and deleted when their time is over. @throws Refusal `webhook_not_found`. */
  async deleteOwn(from: Pick<Database, 'query'>, webhookId: string, context: RequestContext): Promise<void> {
    found(await from.query<WebhookRow>(deleteOwn, [webhookId, principalOf(context).accountId]));
  }
}

function found([row]: WebhookRow[]): WebhookRow {
  if (!row) throw refuse(getWebhook, 'webhook_not_found', {});
  return row;
}
