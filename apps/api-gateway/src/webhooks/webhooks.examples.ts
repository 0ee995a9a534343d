import type { OutputOf } from '@market/contracts';
import type {
  createWebhook,
  getWebhook,
  replayWebhookDelivery,
  rotateWebhookSecret,
  testWebhook,
} from '@market/contracts/gateway';
import { eventExample } from '../events/events.examples.js';
import { EARLIER, LATER, SELLER_ID, WEBHOOK_ID } from '../openapi/example-values.js';

export const webhookExample: OutputOf<typeof getWebhook> = {
  id: WEBHOOK_ID,
  url: 'https://hooks.seller.example/market',
  description: 'Bookkeeping',
  event_types: ['sale', 'refund'],
  status: 'active',
  disabled_reason: null,
  previous_secret_expires_at: null,
  last_success_at: LATER,
  last_failure_at: null,
  created_at: EARLIER,
  updated_at: EARLIER,
};

export const createdWebhookExample: OutputOf<typeof createWebhook> = {
  ...webhookExample,
  last_success_at: null,
  secret: 'whsec_…shown once…',
};

export const rotatedWebhookExample: OutputOf<typeof rotateWebhookSecret> = {
  secret: 'whsec_…shown once…',
  previous_secret_expires_at: LATER,
};

export const testedWebhookExample: OutputOf<typeof testWebhook> = {
  success: true,
  message_id: 'evt_019a9f4c-5a10-7c3e-8b7d-1f2e3d4c5b88_test',
  status_code: 204,
  failure: null,
  latency_ms: 84,
};

export const deliveryExample: OutputOf<typeof replayWebhookDelivery> = {
  id: '019a9f4c-6b21-7d4f-9c8e-2a3f4e5d6c99',
  message_id: `evt_${SELLER_ID}_${eventExample.id}`,
  event: eventExample,
  status: 'pending',
  attempts: [{ at: EARLIER, status_code: 503, failure: 'bad_status', latency_ms: 84 }],
  next_attempt_at: LATER,
  created_at: EARLIER,
};
