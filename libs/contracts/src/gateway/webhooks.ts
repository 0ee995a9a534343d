import { z } from 'zod';
import { declareRefusal, defineEvent, defineRequest } from '../define.js';
import { accountEvent, eventType } from '../reputation/events.js';
import { cursorPageOf, cursorRequest, id, someOf, text, timestamp, wholeNumber } from '../shared/index.js';

const urlField = text(1, 2_048).describe('Where events are sent, by POST: an https address that the internet reaches.');
const descriptionField = text(1, 200).nullable().optional().describe('How you tell your webhooks apart.');
const eventTypesField = someOf(eventType)
  .nullable()
  .optional()
  .describe('The types of GET /events that are sent; all, also those added later, when left out or null.');

const webhookId = id.describe('Names the webhook, as in /webhooks/{webhookId}.');

export const webhookView = z.object({
  id: webhookId,
  url: z.string().describe('Where events are sent.'),
  description: z.string().nullable().describe('Your words for it; null without any.'),
  event_types: z.array(z.string()).nullable().describe('The types that are sent; null is all of them.'),
  status: z
    .enum(['active', 'paused', 'disabled'])
    .describe('paused: by you. disabled: by the marketplace. Events wait meanwhile, for 30 days.'),
  disabled_reason: z
    .enum(['failing', 'gone'])
    .nullable()
    .describe('failing: nothing arrived for three days. gone: it answered 410.'),
  previous_secret_expires_at: timestamp.nullable().describe('Until then, events carry a second signature.'),
  last_success_at: timestamp.nullable().describe('When an event last arrived; null before the first.'),
  last_failure_at: timestamp.nullable().describe('When an attempt last failed; null before the first.'),
  created_at: timestamp.describe('When the webhook was created.'),
  updated_at: timestamp.describe('When it was last changed.'),
});

export const deliveryFailure = z.enum(['unreachable', 'timeout', 'bad_status']);
export type DeliveryFailure = z.output<typeof deliveryFailure>;

const sent = {
  status_code: z.number().int().nullable().describe('Of the answer; null without one.'),
  failure: deliveryFailure
    .nullable()
    .describe(
      'Null: answered with 2xx. unreachable: no connection, or to no public address. bad_status: anything else.',
    ),
  latency_ms: z.number().int().describe('Milliseconds until the answer began, or the attempt was given up.'),
};

export const deliveryStatus = z.enum(['pending', 'delivered', 'failed']);

export const webhookDelivery = z.object({
  id: id.describe('Names the delivery, as in /webhook-deliveries/{deliveryId}.'),
  message_id: z.string().describe('The header webhook-id: the same in every attempt and replay of this event.'),
  event: accountEvent.describe('What is sent: the event as GET /events shows it.'),
  status: deliveryStatus.describe('failed: given up after the last attempt; a replay begins anew.'),
  attempts: z
    .array(z.object({ at: timestamp.describe('When it was sent.'), ...sent }))
    .describe('The latest 20, oldest first.'),
  next_attempt_at: timestamp.nullable().describe('When it is sent next, while it is pending.'),
  created_at: timestamp.describe('When the event was taken up.'),
});

const webhookNotFound = declareRefusal('not-found', 'You have no such webhook', z.object({}));
const urlRefused = declareRefusal(
  'invalid',
  'url is not an address the marketplace may call',
  z.object({ problem: z.string() }),
  { nextAction: 'fix_request' },
);

export const listWebhooks = defineRequest({
  subject: 'rpc.gateway.list-webhooks.v1',
  repeatable: true,
  input: z.object({}),
  output: z.object({ webhooks: z.array(webhookView) }),
  refusals: {},
});

export const createWebhook = defineRequest({
  subject: 'rpc.gateway.create-webhook.v1',
  answersSecret: true,
  input: z.object({ url: urlField, event_types: eventTypesField, description: descriptionField }),
  output: webhookView.extend({
    secret: z.string().describe('Verifies what is sent, by any library of Standard Webhooks; shown once.'),
  }),
  refusals: {
    webhook_url_refused: urlRefused,
    too_many_webhooks: declareRefusal(
      'conflict',
      'This account has the maximum number of webhooks; delete one to create another',
      z.object({ maximum: z.number().int() }),
      { nextAction: 'do_not_retry' },
    ),
  },
});

export const getWebhook = defineRequest({
  subject: 'rpc.gateway.get-webhook.v1',
  repeatable: true,
  input: z.object({ webhook_id: id }),
  output: webhookView,
  refusals: { webhook_not_found: webhookNotFound },
});

export const updateWebhook = defineRequest({
  subject: 'rpc.gateway.update-webhook.v1',
  input: z.object({
    webhook_id: id,
    url: urlField.optional(),
    event_types: eventTypesField,
    description: descriptionField,
    status: z
      .enum(['active', 'paused'])
      .optional()
      .describe('active ends a pause and what disabled it; what waited is sent then.'),
  }),
  output: webhookView,
  refusals: { webhook_not_found: webhookNotFound, webhook_url_refused: urlRefused },
});

export const deleteWebhook = defineRequest({
  subject: 'rpc.gateway.delete-webhook.v1',
  input: z.object({ webhook_id: id }),
  output: z.object({ id: webhookId, deleted: z.literal(true).describe('It is gone.') }),
  refusals: { webhook_not_found: webhookNotFound },
});

export const rotateWebhookSecret = defineRequest({
  subject: 'rpc.gateway.rotate-webhook-secret.v1',
  answersSecret: true,
  input: z.object({
    webhook_id: id,
    overlap_seconds: wholeNumber(0, 604_800).describe('How many seconds events carry both signatures.').default(86_400),
  }),
  output: z.object({
    secret: z.string().describe('Shown once.'),
    previous_secret_expires_at: timestamp.describe('Until when events carry the signature of the secret before, too.'),
  }),
  refusals: { webhook_not_found: webhookNotFound },
});

export const testWebhook = defineRequest({
  subject: 'rpc.gateway.test-webhook.v1',
  waitsForSeller: true,
  input: z.object({ webhook_id: id }),
  output: z.object({
    success: z.boolean().describe('Whether it was answered with 2xx.'),
    message_id: z.string().describe('The header webhook-id of the test.'),
    ...sent,
  }),
  refusals: {
    webhook_not_found: webhookNotFound,
    too_many_tests: declareRefusal(
      'rate-limited',
      'At most 10 tests a minute for a webhook',
      z.object({ retry_after_seconds: z.number().int() }),
      { nextAction: 'retry_after_delay' },
    ),
  },
});

export const listWebhookDeliveries = defineRequest({
  subject: 'rpc.gateway.list-webhook-deliveries.v1',
  repeatable: true,
  input: z.object({ webhook_id: id, status: deliveryStatus.optional(), ...cursorRequest }),
  output: cursorPageOf(webhookDelivery),
  refusals: { webhook_not_found: webhookNotFound },
});

export const replayWebhookDelivery = defineRequest({
  subject: 'rpc.gateway.replay-webhook-delivery.v1',
  input: z.object({ delivery_id: id }),
  output: webhookDelivery,
  refusals: {
    delivery_not_found: declareRefusal(
      'not-found',
      'No webhook of yours has such a delivery, or no longer',
      z.object({}),
    ),
  },
});

/** A webhook failed for too long, or answered that it is gone. */
export const webhookDisabled = defineEvent({
  subject: 'evt.gateway.webhook-disabled.v1',
  payload: z.object({ accountId: id, webhookId: id, reason: z.enum(['failing', 'gone']), at: timestamp }),
});
