import { z } from 'zod';
import { defineRequest, defineSignal } from '../define.js';
import { id, timestamp } from '../shared/index.js';

/** The number of an event among those of its account; 0 is before the first. */
export const eventId = z.string().regex(/^\d{1,18}$/);

/** The position to read from: after an event, or after all existing events (`now`). */
export const eventCursor = z.string().regex(/^(\d{1,18}|now)$/);

/** The types of account events. Types are added without notice: readers must skip those that they do not know. */
export const EVENT_TYPES = {
  sale: 'A call of your listing was delivered and charged.',
  delivery_failed: 'A call failed at its seller; told to both sides, data.role says which one you are.',
  'call.progress': 'The seller of a job that you bought has said how far it is; at most once in ten seconds.',
  'call.completed': 'A job that you bought was delivered: repeat the call for its result.',
  'call.failed': 'A job that you bought was not delivered: data.reason says why, and nothing is charged for it.',
  refund:
    'Money is owed back, or was paid back: data.status is refund_due or refunded; told to both sides where the seller owes it.',
  fees_near_limit:
    'You owe more than half of what you may of fees; above the limit your paid listings leave the market after the days of grace.',
  budget_near_limit: 'Four fifths of the day or month of a budget are spent; data.budget is key or agent.',
  budget_exhausted: 'All of the day or month of a budget is spent.',
  review: 'Your listing was reviewed.',
  listing_suspended: 'Your listing is off the market; data.suspended_by is owner, operator or system.',
  endpoint_failing: 'The endpoint of your listing does not work, and no calls of it are sold.',
  endpoint_active: 'The endpoint of your listing works, for the first time or again.',
  subscription_started: 'A subscription began; told to both sides, as delivery_failed is.',
  subscription_ended: 'A subscription was cancelled or ran out; told to both sides.',
  webhook_disabled:
    'A webhook of yours gets nothing any more: data.reason is failing (nothing arrived for three days) or gone (it answered 410).',
} as const;
export type EventType = keyof typeof EVENT_TYPES;
export const eventType = z.enum(Object.keys(EVENT_TYPES) as [EventType, ...EventType[]]);

/** Ids grow in the order in which events were written; `at` is when it happened. */
export const accountEvent = z.object({
  id: eventId,
  type: z.string().describe(
    Object.entries(EVENT_TYPES)
      .map(([type, meaning]) => `${type}: ${meaning}`)
      .join(' '),
  ),
  at: timestamp,
  data: z
    .record(z.string(), z.unknown())
    .describe('What it is about: ids of the listing, the request, the subscription.'),
});
export type AccountEvent = z.output<typeof accountEvent>;

/** Lists a page of the caller's events after `after`, oldest first. An id that is ahead of all of them starts over. */
export const listEvents = defineRequest({
  subject: 'rpc.reputation.list-events.v1',
  repeatable: true,
  input: z.object({ after: eventCursor, page: z.number().int().min(1), limit: z.number().int().min(1).max(100) }),
  /** `latest` is the id of the account's latest event; `total` counts all stored ones. */
  output: z.object({ items: z.array(accountEvent), hasMore: z.boolean(), latest: eventId, total: z.number().int() }),
  refusals: {},
});

/** The same of any account, for the webhooks that the gateway serves. */
export const readEvents = defineRequest({
  ...listEvents,
  subject: 'rpc.reputation.read-events.v1',
  input: listEvents.input.extend({ accountId: id }),
});

/** Events were added for these accounts. */
export const eventsAdded = defineSignal({
  subject: 'sig.reputation.events-added.v1',
  payload: z.object({ accountIds: z.array(id) }),
});
