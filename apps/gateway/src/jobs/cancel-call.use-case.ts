import type { InputOf, OutputOf } from '@market/contracts';
import { cancelCall } from '@market/contracts/gateway';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

const RETRY_SECONDS = 5;

const findOwn = sql(
  'gateway-requests.find-to-cancel',
  'SELECT 1 FROM gateway_requests WHERE id = $1 AND buyer_id = $2',
);
/** The seller is told once, however often the buyer asks. */
const cancel = sql(
  'jobs.cancel',
  `UPDATE jobs j SET cancelled_at = coalesce(cancelled_at, now()),
     cancel_due_at = CASE WHEN cancelled_at IS NULL THEN now() ELSE cancel_due_at END
   FROM gateway_requests g WHERE j.call_id = $1 AND g.id = j.call_id AND g.job_until > now() RETURNING j.call_id`,
);

/**
 * Asks the seller of a job to stop. Its work may be done to a large part, so nothing is owed back unless it agrees; what
 * it delivers first counts.
 */
@Injectable()
export class CancelCall {
  constructor(private readonly database: Database) {}

  @HandleRequest(cancelCall)
  async execute(
    { requestId }: InputOf<typeof cancelCall>,
    context: RequestContext,
  ): Promise<OutputOf<typeof cancelCall>> {
    const { accountId } = principalOf(context);
    const own = await this.database.query(findOwn, [requestId, accountId]);
    if (own.length === 0) throw refuse(cancelCall, 'gateway_request_not_found', {});
    const cancelled = await this.database.query(cancel, [requestId]);
    if (cancelled.length === 0) throw refuse(cancelCall, 'not_cancellable', {});
    return { request_id: requestId, status: 'cancelling', retry_after_seconds: RETRY_SECONDS };
  }
}
