import { text, wholeNumber } from '@market/contracts';
import { z } from 'zod';

export const updateEndpointBody = z.object({
  private_endpoint_url: text(1, 2_048).optional(),
  auth_header: z
    .strictObject({ name: text(1, 128), value: text(1, 4_096) })
    .nullable()
    .optional()
    .describe('A header every forwarded call carries; null removes it.'),
  timeout_ms: wholeNumber(1_000, 120_000).optional().describe('The whole call, in milliseconds.'),
  limits: z
    .strictObject({
      max_request_bytes: wholeNumber(1_024, 1_048_576),
      max_response_bytes: wholeNumber(1_024, 4_194_304),
      max_concurrency: wholeNumber(1, 256),
      requests_per_minute: wholeNumber(1, 60_000).nullable().describe('null: as many as max_concurrency lets through.'),
    })
    .partial()
    .optional(),
  status: z.enum(['active', 'paused']).optional(),
});

export const rotateSecretBody = z.object({
  overlap_seconds: wholeNumber(0, 604_800).describe('How many seconds calls carry both signatures.').default(86_400),
});
