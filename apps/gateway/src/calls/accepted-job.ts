import { fileTypesOf } from '@market/contracts/gateway';
import { z } from 'zod';
import type { SellerAccepted } from '../egress/seller-outcome.js';
import { jobDeadlineOf, type CallableEndpoint } from '../endpoints/callable-endpoints.js';
import type { AcceptedJob } from '../jobs/job-records.js';

const MAX_DEADLINE_SECONDS = 86_400;
const MAX_URL_LENGTH = 2_048;

/** What is not as it should be is as if it were missing, because the seller need say nothing. */
const said = z.object({
  estimated_seconds: z.number().min(0).max(MAX_DEADLINE_SECONDS).nullable().catch(null),
  status_url: z.string().max(MAX_URL_LENGTH).nullable().default(null),
});

/** The job that a seller has taken; null if it is to be looked for at another server than its own. */
export function acceptedJobOf(
  { json }: SellerAccepted,
  target: CallableEndpoint,
  formats: readonly string[],
  forwardedAt: number,
): Omit<AcceptedJob, 'isHeld'> | null {
  const { success, data } = said.safeParse(json === null ? {} : JSON.parse(json));
  const job = {
    fileTypes: fileTypesOf(formats),
    deadline: new Date(jobDeadlineOf(target, forwardedAt) * 1_000),
    estimatedSeconds: (success && data.estimated_seconds) || null,
    statusUrl: null,
  };
  if (success && data.status_url === null) return job;
  const url = success && URL.canParse(data.status_url!, target.url) ? new URL(data.status_url!, target.url) : null;
  return url?.origin === new URL(target.url).origin ? { ...job, statusUrl: url.href } : null;
}
