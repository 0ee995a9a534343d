import type { InputOf, OutputOf } from '@market/contracts';
import { type DeliveryFailure, listWebhookDeliveries, replayWebhookDelivery } from '@market/contracts/gateway';
import type { AccountEvent } from '@market/contracts/reputation';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, pageOfRows, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { WebhooksRepository } from './webhooks.repository.js';

type View = OutputOf<typeof replayWebhookDelivery>;

export interface DeliveryRow {
  id: string;
  event_id: string;
  /** What is sent: the event as `GET /events` shows it. */
  body: string;
  status: View['status'];
  /** How often it was sent since it began, or began anew with a replay. */
  tries: number;
  attempts: { at: string; status_code: number | null; failure: DeliveryFailure | null; latency_ms: number }[];
  due_at: Date;
  created_at: Date;
}

const columns = 'd.id, d.event_id::text, d.body, d.status, d.tries, d.attempts, d.due_at, d.created_at';

const list = sql(
  'webhook-deliveries.list',
  `SELECT ${columns} FROM webhook_deliveries d
   WHERE d.webhook_id = $1 AND ($2::text IS NULL OR d.status = $2) AND ($3::uuid IS NULL
     OR d.event_id < (SELECT event_id FROM webhook_deliveries WHERE id = $3 AND webhook_id = $1))
   ORDER BY d.event_id DESC LIMIT $4::int + 1 OFFSET $5`,
);
const count = sql(
  'webhook-deliveries.count',
  `SELECT count(*)::int AS total FROM webhook_deliveries d
   WHERE d.webhook_id = $1 AND ($2::text IS NULL OR d.status = $2)`,
);
const replay = sql(
  'webhook-deliveries.replay',
  `WITH woken AS (
     UPDATE webhooks w SET due_at = least(w.due_at, now()) FROM webhook_deliveries d
     WHERE d.id = $1 AND w.id = d.webhook_id AND w.account_id = $2 RETURNING w.id)
   UPDATE webhook_deliveries d SET status = 'pending', tries = 0, due_at = now(), started_at = now()
   FROM woken WHERE d.id = $1 AND d.webhook_id = woken.id RETURNING ${columns}`,
);

/** Of different accounts' events, which are numbered by account, no two have the same id. */
export const messageIdOf = (accountId: string, eventId: string): string => `evt_${accountId}_${eventId}`;

/** The log of what was sent and is still to be sent to a webhook. */
@Injectable()
export class WebhookDeliveries {
  constructor(
    private readonly database: Database,
    private readonly webhooks: WebhooksRepository,
  ) {}

  /** Newest first. */
  @HandleRequest(listWebhookDeliveries)
  async list(
    { webhook_id, status, cursor, page, limit }: InputOf<typeof listWebhookDeliveries>,
    context: RequestContext,
  ): Promise<OutputOf<typeof listWebhookDeliveries>> {
    const { account_id: accountId } = await this.webhooks.findOwn(this.database, webhook_id, context);
    const offset = cursor === undefined ? (page - 1) * limit : 0;
    const [[counted], found] = await Promise.all([
      this.database.query<{ total: number }>(count, [webhook_id, status]),
      this.database.query<DeliveryRow>(list, [webhook_id, status, cursor, limit, offset]),
    ]);
    const { rows, nextCursor } = pageOfRows(found, limit);
    return { items: rows.map((row) => toView(row, accountId)), total: counted!.total, nextCursor };
  }

  /** Sends a delivery again, whatever became of it, as soon as its webhook is active. */
  @HandleRequest(replayWebhookDelivery)
  async replay({ delivery_id: id }: InputOf<typeof replayWebhookDelivery>, context: RequestContext): Promise<View> {
    const { accountId } = principalOf(context);
    const [row] = await this.database.query<DeliveryRow>(replay, [id, accountId]);
    if (!row) throw refuse(replayWebhookDelivery, 'delivery_not_found', {});
    return toView(row, accountId);
  }
}

const toView = (row: DeliveryRow, accountId: string): View => ({
  id: row.id,
  message_id: messageIdOf(accountId, row.event_id),
  event: JSON.parse(row.body) as AccountEvent,
  status: row.status,
  attempts: row.attempts,
  next_attempt_at: row.status === 'pending' ? row.due_at.toISOString() : null,
  created_at: row.created_at.toISOString(),
});
