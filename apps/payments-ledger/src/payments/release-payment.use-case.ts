import { releasePayment } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { refuse } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

/** Ends a claim whose holder stopped. Its commits remain: if its answer was stored, the next claim charges for it. */
export const releaseClaim = sql(
  'payments.release-claim',
  `UPDATE payments SET state = 'verified', lease_until = NULL WHERE id = $1 AND fence = $2 AND state IN ('in_flight', 'verified')`,
);
/**
 * A payment that is only signed counts against no budget until it is claimed again. A transfer counts until it is
 * refunded.
 */
const release = sql(
  'payments.release',
  `UPDATE payments SET state = 'verified', lease_until = NULL,
     reserved_on = CASE WHEN authorization_id IS NULL OR transaction_hash IS NOT NULL THEN reserved_on END
   WHERE id = $1 AND fence = $2 AND state IN ('in_flight', 'verified') RETURNING retry_until`,
);

/** Releases a claim after an answer that was not billable. The payment can be claimed again for the same call. */
@Injectable()
export class ReleasePayment {
  constructor(private readonly database: Database) {}

  async execute({ paymentId, fence }: InputOf<typeof releasePayment>): Promise<OutputOf<typeof releasePayment>> {
    const [row] = await this.database.query<{ retry_until: Date }>(release, [paymentId, fence]);
    if (!row) throw refuse(releasePayment, 'claim_lost', {});
    return { retryUntil: row.retry_until.toISOString() };
  }
}
