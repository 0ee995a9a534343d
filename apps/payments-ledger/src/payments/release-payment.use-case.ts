import { releasePayment } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Database, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { giveBack } from '../quotas/call-quotas.js';
import { Authorizations } from './authorizations.js';
import { paysBySignature } from './payment.js';
import { UNPAID_STATES, type PaymentState } from './payment-state.js';
import { ReconcilePayment, type LockedPayment } from './reconcile-payment.js';

const release = sql(
  'payments.release',
  `UPDATE payments SET in_use_until = NULL, reserved_on = CASE WHEN received_base_units > 0 THEN reserved_on END
   WHERE id = $1 AND state IN ('verified', 'refund_due') AND authorization_id IS NOT NULL
   RETURNING state, keyless_offer IS NOT NULL AND received_base_units > 0 AS "isLost"`,
);

/**
 * Ends the use of a payment by a call that was not billable. A signed authorization can be used again for the same call.
 * A client without a key would sign for another one, and a call that is over is not repeated: what has arrived is owed
 * back at once, and a signature that was held for it lapses. A call that is included is given back in either case.
 */
@Injectable()
export class ReleasePayment {
  constructor(
    private readonly database: Database,
    private readonly reconcilePayment: ReconcilePayment,
    private readonly authorizations: Authorizations,
  ) {}

  @HandleRequest(releasePayment)
  async execute(
    { paymentId, isUndelivered, isOver }: InputOf<typeof releasePayment>,
    context: RequestContext,
  ): Promise<OutputOf<typeof releasePayment>> {
    return this.database.transaction(async (tx) => {
      if (isOver) return this.oweBack(tx, await this.reconcilePayment.lock(tx, paymentId), context);
      const [released] = await tx.query<{ state: PaymentState; isLost: boolean }>(release, [paymentId]);
      if (!released && (await tx.query(giveBack, [paymentId])).length > 0) return { isFree: true };
      if (released?.state === 'refund_due') return { isOwedBack: true };
      if (!released?.isLost || !isUndelivered) return {};
      await this.reconcilePayment.markNotDelivered(tx, await this.reconcilePayment.lock(tx, paymentId), context);
      return { isOwedBack: true };
    });
  }

  private async oweBack(
    tx: Tx,
    payment: LockedPayment,
    context: RequestContext,
  ): Promise<OutputOf<typeof releasePayment>> {
    if (payment.state === 'verified' && paysBySignature(payment)) {
      await this.authorizations.lapse(tx, payment.id);
      return { isFree: true };
    }
    if (payment.purpose === 'included') {
      tx.send(giveBack, [payment.id]);
      return { isFree: true };
    }
    // A signature that was to be settled first came to nothing.
    if (payment.state === 'pending' || UNPAID_STATES.includes(payment.state)) return { isFree: true };
    const hasArrived = payment.state === 'verified' && BigInt(payment.received_base_units) > 0n;
    if (hasArrived) await this.reconcilePayment.markNotDelivered(tx, payment, context);
    return hasArrived || payment.state === 'refund_due' || payment.state === 'refunded' ? { isOwedBack: true } : {};
  }
}
