import { UnavailableError } from '@market/kernel';
import type { RequestContext } from '@market/messaging';
import { Locks } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { DeliverCall } from '../calls/deliver-call.js';
import type { SellerFailed, SellerFailureReason, SellerOutcome } from '../egress/seller-outcome.js';
import type { Job } from './job-records.js';

/** A repeated request for the call holds its lock for a moment. */
const LOCK_WAIT_MS = 5_000;
const LOCK_PAUSE_MS = 50;

/** Ends the call of a job, under the lock of the call. */
@Injectable()
export class EndJob {
  constructor(
    private readonly locks: Locks,
    private readonly delivery: DeliverCall,
  ) {}

  /** @returns false if the call has ended before: its first end stays. */
  async execute(job: Job, outcome: SellerOutcome, context: RequestContext): Promise<boolean> {
    for (const until = Date.now() + LOCK_WAIT_MS; ; await delay(LOCK_PAUSE_MS)) {
      const lock = await this.locks.acquire(job.relayRequestId ?? job.id);
      if (!lock) {
        if (Date.now() < until) continue;
        throw new UnavailableError('the call of a job');
      }
      try {
        return await this.delivery.endJob(job, outcome, context);
      } finally {
        lock.release();
      }
    }
  }
}

export const latencyOf = ({ seconds }: Job): number => Math.round(seconds * 1_000);

/** @param words what the seller says of it. */
export const failureOf = (job: Job, reason: SellerFailureReason, words: string | null): SellerFailed => ({
  kind: 'failed',
  reason,
  statusCode: reason === 'deadline' ? 504 : 502,
  contact: reason === 'deadline' ? 'broken' : 'answered',
  json: words === null ? null : JSON.stringify({ reason: words }),
  latencyMs: latencyOf(job),
});
