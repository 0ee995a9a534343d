import { idempotency, idOf, type Cancellable, type HttpClient, type Identified } from './http.js';
import type * as Api from './types.js';

/** The addresses that the events of this account are sent to. What arrives is verified by `standardwebhooks` of npm. */
export const webhookOperations = (http: () => HttpClient) => ({
  list: (options?: Cancellable): Promise<Api.Webhook[]> => http().data('GET', '/webhooks', options),

  /** The secret is in this answer alone. */
  create: (body: Api.CreateWebhook, options?: Cancellable & { idempotencyKey?: string }): Promise<Api.CreatedWebhook> =>
    http().data('POST', '/webhooks', { signal: options?.signal, headers: idempotency(options), body }),

  get: (webhook: Identified, options?: Cancellable): Promise<Api.Webhook> =>
    http().data('GET', `/webhooks/${idOf(webhook)}`, options),

  update: (webhook: Identified, body: Api.UpdateWebhook, options?: Cancellable): Promise<Api.Webhook> =>
    http().data('PATCH', `/webhooks/${idOf(webhook)}`, { ...options, body }),

  remove: (webhook: Identified, options?: Cancellable): Promise<Api.DeletedWebhook> =>
    http().data('DELETE', `/webhooks/${idOf(webhook)}`, options),

  /** Events are signed with both secrets for `overlap` seconds, a day by default. */
  rotateSecret: (
    webhook: Identified,
    { overlapSeconds, signal }: Cancellable & { overlapSeconds?: number } = {},
  ): Promise<Api.RotatedWebhookSecret> =>
    http().data('POST', `/webhooks/${idOf(webhook)}/rotate-secret`, {
      signal,
      body: { overlap_seconds: overlapSeconds },
    }),

  test: (webhook: Identified, options?: Cancellable): Promise<Api.WebhookTest> =>
    http().data('POST', `/webhooks/${idOf(webhook)}/test`, options),

  deliveries: (
    webhook: Identified,
    query?: Api.WebhookDeliveryQuery,
    options?: Cancellable,
  ): Promise<Api.Page<Api.WebhookDelivery>> =>
    http().page(`/webhooks/${idOf(webhook)}/deliveries`, query, options?.signal),

  replay: (delivery: Identified, options?: Cancellable): Promise<Api.WebhookDelivery> =>
    http().data('POST', `/webhook-deliveries/${idOf(delivery)}/replay`, options),
});
