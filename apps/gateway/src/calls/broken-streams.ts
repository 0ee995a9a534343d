import type { RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import type { SellerFailed } from '../egress/seller-outcome.js';
import type { CalledEndpoint } from '../endpoints/endpoint-health.js';
import { JobRecords } from '../jobs/job-records.js';
import { CallRecords, type AttemptedCall, type Result } from './call-records.js';
import { RESULT_COLUMNS } from './result-columns.js';

/** In the transaction that stores the failure. The first result of a call stays. */
const store = sql(
  'gateway-requests.store-broken',
  `UPDATE gateway_requests SET is_broken = true, job_until = NULL, result_json = $2, response_digest = $3,
     settled_at = CASE WHEN payment_id IS NULL THEN now() END
   WHERE id = $1 AND billable IS NOT TRUE AND NOT is_broken RETURNING id`,
);
const find = sql(
  'gateway-requests.find-broken',
  `SELECT id, ${RESULT_COLUMNS} FROM gateway_requests
   WHERE relay_request_id = $1 AND buyer_id = $2 AND (is_broken OR (units IS NOT NULL AND gross_micros = 0))
     AND result_json IS NOT NULL`,
);

/**
 * The calls whose stream broke off after its first event, or whose job was not delivered. What has come of it is their
 * result.
 */
@Injectable()
export class BrokenStreams {
  constructor(
    private readonly database: Database,
    private readonly records: CallRecords,
    private readonly jobs: JobRecords,
  ) {}

  /** @returns false if the call has a result already. */
  async store(
    attempt: AttemptedCall,
    endpoint: CalledEndpoint,
    outcome: SellerFailed,
    result: Result,
    context: RequestContext,
  ): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      await this.records.writeFailure(tx, attempt, endpoint, outcome, context);
      const stored = await tx.query(store, [attempt.id, result.answer, result.answerDigest]);
      if (stored.length > 0) await this.records.keepContents(tx, [{ ...attempt, ...result }]);
      if (stored.length > 0 && attempt.isJob) this.jobs.tellEnd(tx, attempt, outcome.reason, context);
      return stored.length > 0;
    });
  }

  /** The result of a buyer's call whose payment pays for nothing any more: one that broke off, or that used nothing. */
  async find(relayRequestId: string, buyerId: string): Promise<(Result & { id: string }) | null> {
    const [row] = await this.database.query<Result & { id: string }>(find, [relayRequestId, buyerId]);
    return row ?? null;
  }
}
