import type { InputOf, OutputOf } from '@market/contracts';
import type { CallableOffering } from '@market/contracts/catalog';
import { findJobSeconds } from '@market/contracts/gateway';
import { HandleRequest } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { mayStream } from '../contents/contents.js';
import { jobSecondsOf, type Endpoint } from './callable-endpoints.js';
import { JOB_DEADLINE_SECONDS } from './endpoint.js';

const find = sql(
  'endpoints.find-job-deadlines',
  'SELECT listing_id, job_deadline_seconds, stream_timeout_ms FROM endpoints WHERE listing_id = ANY($1::uuid[])',
);

/** How long a signature may be held after the request of its call: for a job, or for a stream that costs what it uses. */
export const heldSecondsOf = (
  endpoint: Pick<Endpoint, 'setsJobDeadline' | 'jobDeadlineSeconds' | 'streamTimeoutMs'>,
  { deliveryType, usage, formats }: Pick<CallableOffering, 'deliveryType' | 'usage' | 'formats'>,
): number | undefined =>
  jobSecondsOf(endpoint, deliveryType) ??
  (usage && mayStream(formats) ? Math.ceil(endpoint.streamTimeoutMs / 1_000) : undefined);

/** Says for how long what is signed for listings has to be valid, as their 402 asks for it. */
@Injectable()
export class JobSeconds {
  constructor(private readonly database: Database) {}

  @HandleRequest(findJobSeconds)
  async execute({ listings }: InputOf<typeof findJobSeconds>): Promise<OutputOf<typeof findJobSeconds>> {
    type Row = { listing_id: string; job_deadline_seconds: number | null; stream_timeout_ms: number };
    const rows = await this.database.query<Row>(find, [listings.map(({ listingId }) => listingId)]);
    const set = new Map(rows.map((row) => [row.listing_id, row]));
    const jobSeconds = listings.map(({ listingId, ...offering }) => {
      const { job_deadline_seconds: seconds = null, stream_timeout_ms: streamTimeoutMs = 0 } = set.get(listingId) ?? {};
      const endpoint = {
        setsJobDeadline: seconds !== null,
        jobDeadlineSeconds: seconds ?? JOB_DEADLINE_SECONDS,
        streamTimeoutMs,
      };
      return heldSecondsOf(endpoint, offering) ?? null;
    });
    return { jobSeconds };
  }
}
