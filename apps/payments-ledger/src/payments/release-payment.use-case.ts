import type { releasePayment } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import type { RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import type { PaymentState } from './payment-state.js';
import { ReconcilePayment } from './reconcile-payment.js';

const release = sql(
  'payments.release',
  `UPDATE payments SET in_use_until = NULL, reserved_on = CASE WHEN received_base_units > 0 THEN reserved_on END
   WHERE id = $1 AND state IN ('verified', 'refund_due') AND authorization_id IS NOT NULL
   RETURNING state, keyless_offer IS NOT NULL AND received_base_units > 0 AS "isLost"`,
);

/**
 * Ends the use of a signed authorization by a call that was not billable. It can be used again for the same call. A
 * client without a key would sign for another one: what has arrived from it is owed back at once.
 */
@Injectable()
export class ReleasePayment {
  constructor(
    private readonly database: Database,
    private readonly reconcilePayment: ReconcilePayment,
  ) {}

  async execute(
    { paymentId, isUndelivered }: InputOf<typeof releasePayment>,
    context: RequestContext,
  ): Promise<OutputOf<typeof releasePayment>> {
    return this.database.transaction(async (tx) => {
      const [released] = await tx.query<{ state: PaymentState; isLost: boolean }>(release, [paymentId]);
      if (released?.state === 'refund_due') return { isOwedBack: true };
      if (!released?.isLost || !isUndelivered) return {};
      await this.reconcilePayment.markNotDelivered(tx, await this.reconcilePayment.lock(tx, paymentId), context);
      return { isOwedBack: true };
    });
  }
}
