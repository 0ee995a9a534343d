import { newId } from '@market/kernel';
import { principalOf, type RequestContext } from '@market/messaging';
import { Database, LEASE_END, Leases, sql, withParameters } from '@market/persistence';
import type { Offering } from '@market/contracts/catalog';
import { Injectable } from '@nestjs/common';
import type { CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { NO_MONEY } from './answer-json.js';
import { CallKeys } from './call-keys.js';
import { CALL_COLUMNS, CallRecords, toCallRow, type CallRecord } from './call-records.js';
import { CallTime } from './metrics.js';
import { RunCall, type CallEnd } from './run-call.js';
import { SellerCapacity } from './seller-capacity.js';
import type { ValidatedCall } from './validate-call.js';

const lease = withParameters({ calls: CALL_COLUMNS }, ({ calls }) =>
  sql(
    'gateway-requests.lease-free-call',
    `INSERT INTO gateway_requests AS g (${calls.columns}, status, fence, lease_until)
     SELECT ${calls.columns}, 'forwarding', 1, ${LEASE_END} FROM ${calls.table}
     ON CONFLICT (id) DO UPDATE SET status = 'forwarding', fence = g.fence + 1, lease_until = excluded.lease_until
     WHERE g.billable IS NOT TRUE AND g.payment_id IS NULL AND (g.lease_until IS NULL OR g.lease_until < now())
     RETURNING fence`,
  ),
);
const renew = sql(
  'gateway-requests.renew-free-calls',
  `UPDATE gateway_requests g SET lease_until = ${LEASE_END}
   FROM unnest($1::uuid[], $2::int[]) AS held (id, fence) WHERE g.id = held.id AND g.fence = held.fence AND g.lease_until IS NOT NULL`,
);

/**
 * Calls a per_call listing of price 0 at once. Requests with the same Idempotency-Key share one answer of the seller;
 * each request without a key is a call of its own. A lease on the record of a call prevents concurrent attempts at it.
 */
@Injectable()
export class FreeCall {
  private readonly leases: Leases;

  constructor(
    private readonly database: Database,
    private readonly keys: CallKeys,
    private readonly records: CallRecords,
    private readonly capacity: SellerCapacity,
    private readonly runCall: RunCall,
  ) {
    this.leases = new Leases(database, renew);
  }

  async execute(
    call: ValidatedCall,
    listing: Offering,
    target: CallableEndpoint,
    context: RequestContext,
  ): Promise<CallEnd> {
    const time = new CallTime();
    const permit = await this.capacity.acquire(target.endpoint);
    try {
      const id = await this.takeKey(call.fingerprint, context);
      const buyerId = principalOf(context).accountId;
      const free = {
        id,
        buyerId,
        listing,
        bodyDigest: call.digest,
        money: NO_MONEY,
        payment: null,
      } satisfies CallRecord;
      const [held] = await this.database.query<{ fence: number }>(lease, lease.values({ calls: [toCallRow(free)] }));
      if (held)
        return await this.leases.during(id, held.fence, () =>
          this.runCall.execute(
            { ...free, fence: held.fence, attempt: held.fence, time },
            target,
            permit,
            call.input.body,
            context,
          ),
        );
      const result = await this.records.findResult(id);
      return result ? { outcome: 'answered', answer: result.answer } : { outcome: 'unknown' };
    } finally {
      permit.release();
    }
  }

  /**
   * A key may belong to an offer that was made while the call cost something. That offer can still be paid, so the free
   * call is a new one.
   */
  private async takeKey(fingerprint: Buffer, context: RequestContext): Promise<string> {
    const id = newId();
    const taken = await this.keys.take(context, fingerprint, id);
    if (taken === id || (await this.records.findRelayRequest(taken)) === null) return taken;
    return (await this.keys.move(context, taken, id)) ? id : this.takeKey(fingerprint, context);
  }
}
