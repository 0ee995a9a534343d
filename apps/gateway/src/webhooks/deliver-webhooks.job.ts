import type { InputOf, OutputOf } from '@market/contracts';
import { webhookDisabled } from '@market/contracts/gateway';
import { eventsAdded, readEvents, type AccountEvent } from '@market/contracts/reputation';
import { newId } from '@market/kernel';
import { HandleSignal, MessageBus, newRequestContext } from '@market/messaging';
import { Database, FieldCipher, Outbox, sql, withParameters } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { WebhookSender, type WebhookOutcome } from '../egress/webhook-sender.js';
import { targetOf, webhookColumns, type WebhookRow } from './webhook.js';
import { messageIdOf, type DeliveryRow } from './webhook-deliveries.js';

const INTERVAL_MS = 500;
/** A webhook looks for events after this time, because a signal may be lost. */
const POLL_SECONDS = 60;
const MAX_WEBHOOKS_AT_ONCE = 100;
/** How many events of a webhook are sent at once. While it fails it is one, so that a hanging receiver costs little. */
const CONCURRENCY = 8;
/** Longer than a turn, its last requests and their recording take. */
const LEASE_SECONDS = 60;
const TURN_MS = 30_000;
const PAGE = 100;
/** Beyond, further events wait where they are, in the events of the account. */
const MAX_PENDING = 1_000;
const KEPT_ATTEMPTS = 20;

const MINUTE = 60;
const HOUR = 60 * MINUTE;
/** The waits that Standard Webhooks recommends: a little more than three days, as seconds after each failed attempt. */
const RETRY_AFTER_SECONDS = [
  5,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

const wake = sql(
  'webhooks.wake',
  `UPDATE webhooks SET due_at = now() WHERE account_id = ANY($1::uuid[]) AND status = 'active' AND due_at > now()`,
);
/** What an operator stopped waits, and is sent when the account is released. */
const isOfSuspended =
  'EXISTS (SELECT 1 FROM account_suspensions s WHERE s.account_id = w.account_id AND s.is_suspended)';
const take = sql(
  'webhooks.take',
  `UPDATE webhooks SET leased_until = now() + interval '${LEASE_SECONDS} seconds', due_at = now() + interval '${POLL_SECONDS} seconds'
   WHERE id IN (
     SELECT id FROM webhooks w WHERE status = 'active' AND due_at <= now() AND leased_until <= now()
       AND NOT ${isOfSuspended}
     ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
   RETURNING id`,
);
// What became due during the turn stays so, behind the webhooks that wait already.
const release = sql(
  'webhooks.release',
  `UPDATE webhooks w SET leased_until = now(), due_at = greatest(now(), least(
     w.due_at, CASE WHEN $2 THEN now() + interval '2 seconds' END,
     (SELECT min(d.due_at) FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.status = 'pending')))
   WHERE w.id = $1`,
);
const find = sql(
  'webhooks.find-active',
  `SELECT ${webhookColumns} FROM webhooks w WHERE w.id = $1 AND w.status = 'active' AND NOT ${isOfSuspended}`,
);
const countPending = sql(
  'webhook-deliveries.count-pending',
  `SELECT count(*)::int AS count FROM webhook_deliveries WHERE webhook_id = $1 AND status = 'pending'`,
);
const insert = withParameters(
  { webhook: 'uuid', added: 'id uuid, event_id bigint, body text', last: 'bigint' },
  ({ webhook, added, last }) =>
    sql(
      'webhook-deliveries.insert',
      `WITH stored AS (
         INSERT INTO webhook_deliveries (id, webhook_id, event_id, body)
         SELECT id, ${webhook}, event_id, body FROM ${added.table} ON CONFLICT (webhook_id, event_id) DO NOTHING)
       UPDATE webhooks SET last_event_id = ${last} WHERE id = ${webhook}`,
    ),
);
const findDue = sql(
  'webhook-deliveries.find-due',
  `SELECT id, event_id::text, body, tries, attempts FROM webhook_deliveries
   WHERE webhook_id = $1 AND status = 'pending' AND due_at <= now() ORDER BY due_at, id LIMIT $2`,
);
const record = sql(
  'webhook-deliveries.record',
  `UPDATE webhook_deliveries SET status = $2, tries = tries + 1, attempts = $3,
     due_at = now() + $4 * interval '1 second' WHERE id = $1`,
);
const note = sql(
  'webhooks.note',
  `UPDATE webhooks SET last_success_at = CASE WHEN $2 THEN now() ELSE last_success_at END,
     last_failure_at = CASE WHEN $2 THEN last_failure_at ELSE now() END WHERE id = $1`,
);
/** `failing`: since this delivery began, nothing arrived, and nobody enabled the webhook. */
const disable = sql(
  'webhooks.disable',
  `UPDATE webhooks w SET status = 'disabled', disabled_reason = $2, updated_at = now() FROM webhook_deliveries d
   WHERE w.id = $1 AND d.id = $3 AND w.status = 'active'
     AND ($2 = 'gone' OR greatest(w.enabled_at, w.last_success_at) < d.started_at)
   RETURNING w.account_id AS "accountId"`,
);

/** When events that follow may be taken up. */
type FurtherEvents = 'now' | 'later' | 'none';

type DueRow = Pick<DeliveryRow, 'id' | 'event_id' | 'body' | 'tries' | 'attempts'>;

/**
 * Sends the events of accounts to their webhooks, at least once each. A webhook is served by one process at a time, so
 * that a slow receiver delays itself alone. If that process dies, another one takes the webhook when the lease ends.
 */
@Injectable()
export class DeliverWebhooks implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('DeliverWebhooks');
  private readonly running = new Set<Promise<unknown>>();
  private readonly leaving = new AbortController();
  private accountsWithEvents = new Set<string>();

  constructor(
    private readonly database: Database,
    private readonly bus: MessageBus,
    private readonly outbox: Outbox,
    private readonly cipher: FieldCipher,
    private readonly sender: WebhookSender,
    private readonly jobs: Jobs,
  ) {}

  @HandleSignal(eventsAdded)
  onEventsAdded({ accountIds }: { accountIds: string[] }): void {
    for (const accountId of accountIds) this.accountsWithEvents.add(accountId);
  }

  onApplicationBootstrap(): void {
    this.jobs.every('deliver-webhooks', INTERVAL_MS, () => this.run());
  }

  async onModuleDestroy(): Promise<void> {
    this.leaving.abort();
    await Promise.all(this.running);
  }

  private async run(): Promise<void> {
    const accountIds = [...this.accountsWithEvents];
    this.accountsWithEvents = new Set();
    if (accountIds.length > 0) await this.database.query(wake, [accountIds]);
    const free = MAX_WEBHOOKS_AT_ONCE - this.running.size;
    for (const { id } of await this.database.query<{ id: string }>(take, [free])) {
      const turn = this.serve(id)
        .catch((error: unknown) => this.logger.warn(`the webhook ${id} was not served: ${String(error)}`))
        .finally(() => this.running.delete(turn));
      this.running.add(turn);
    }
  }

  /** Sends what is due, as long as it arrives, until nothing is or other webhooks should have their turn. */
  private async serve(id: string): Promise<void> {
    const until = Date.now() + TURN_MS;
    let further: FurtherEvents = 'now';
    let outcomes: boolean[];
    try {
      do {
        const [webhook] = await this.database.query<WebhookRow>(find, [id]);
        if (!webhook) return;
        if (further !== 'none') further = await this.takeUpEvents(webhook);
        const due = await this.database.query<DueRow>(findDue, [id, isFailing(webhook) ? 1 : CONCURRENCY]);
        outcomes = await Promise.all(due.map((delivery) => this.deliver(webhook, delivery)));
      } while (
        outcomes.length > 0
          ? outcomes.includes(true) && Date.now() < until
          : further === 'now' && !this.leaving.signal.aborted
      );
    } finally {
      await this.database.query(release, [id, further !== 'none']);
    }
  }

  /** Stores deliveries of the next events. */
  private async takeUpEvents(webhook: WebhookRow): Promise<FurtherEvents> {
    const { id, account_id: accountId, event_types, last_event_id: after } = webhook;
    const [pending] = await this.database.query<{ count: number }>(countPending, [id]);
    if (pending!.count >= MAX_PENDING) return 'later';
    const page = await this.readEvents({ accountId, after, page: 1, limit: PAGE });
    if (!page) return 'later';
    const { items, hasMore } = page;
    if (items.length === 0) return 'none';
    const chosen = items.filter(({ type }) => event_types === null || event_types.includes(type));
    const added = chosen.map((event) => ({ id: newId(), event_id: event.id, body: bodyOf(event) }));
    await this.database.query(insert, insert.values({ webhook: id, added, last: items.at(-1)!.id }));
    return hasMore ? 'now' : 'none';
  }

  /** While the events cannot be read, those that were taken up are still sent. */
  private async readEvents(asked: InputOf<typeof readEvents>): Promise<OutputOf<typeof readEvents> | undefined> {
    try {
      return await this.bus.request(readEvents, asked, newRequestContext());
    } catch (error) {
      this.logger.debug(`events cannot be read: ${String(error)}`);
      return undefined;
    }
  }

  /** @returns whether it arrived. */
  private async deliver(webhook: WebhookRow, delivery: DueRow): Promise<boolean> {
    const at = new Date().toISOString();
    const messageId = messageIdOf(webhook.account_id, delivery.event_id);
    const message = { ...targetOf(webhook, this.cipher), messageId, rawBody: delivery.body };
    const outcome = await this.sender.send(message, this.leaving.signal);
    // An aborted attempt says nothing about the receiver.
    if (!this.leaving.signal.aborted || outcome.failure === null) await this.record(webhook, delivery, outcome, at);
    return outcome.failure === null;
  }

  private async record(
    { id: webhookId }: WebhookRow,
    { id, tries, attempts }: DueRow,
    { statusCode, failure, latencyMs }: WebhookOutcome,
    at: string,
  ): Promise<void> {
    const isGone = statusCode === 410;
    const wait = RETRY_AFTER_SECONDS[tries];
    const status = failure === null ? 'delivered' : isGone || wait === undefined ? 'failed' : 'pending';
    const attempt = { at, status_code: statusCode, failure, latency_ms: latencyMs };
    const kept = JSON.stringify([...attempts, attempt].slice(-KEPT_ATTEMPTS));
    await this.database.transaction(async (tx) => {
      await tx.query(note, [webhookId, failure === null]);
      await tx.query(record, [id, status, kept, withJitter(wait ?? 0)]);
      if (status !== 'failed') return;
      const reason = isGone ? 'gone' : 'failing';
      const [disabled] = await tx.query<{ accountId: string }>(disable, [webhookId, reason, id]);
      if (disabled) this.outbox.add(tx, webhookDisabled, { ...disabled, webhookId, reason, at }, newRequestContext());
    });
  }
}

/** The event as `GET /events` shows it. */
const bodyOf = ({ id, type, at, data }: AccountEvent): string => JSON.stringify({ id, type, at, data });

const isFailing = ({ last_failure_at: failed, last_success_at: succeeded }: WebhookRow): boolean =>
  failed !== null && (succeeded === null || failed > succeeded);

/** Up to a tenth more, so that receivers that were down do not get everything at the same moment. */
const withJitter = (seconds: number): number => seconds * (1 + Math.random() / 10);
