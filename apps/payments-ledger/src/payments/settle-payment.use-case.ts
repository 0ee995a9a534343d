import { settlePayment } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { Database, GroupCommit } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { ChargeCalls, hasEndedUnused, usedNothing, type Due } from './charge-calls.js';
import { isForCall } from './payment.js';
import { ReconcilePayment, type LockedPayment } from './reconcile-payment.js';
import { SettleAuthorization } from './settle-authorization.js';

type Input = InputOf<typeof settlePayment>;
type Output = OutputOf<typeof settlePayment>;
type DueCall = Pick<Due, 'input' | 'context'>;

/** The result for a payment that a signed authorization pays: the money must move before the charge. */
const NOT_MOVED_YET = Symbol('not moved yet');

/**
 * Charges for delivered answers. One transaction for all answers that arrive together locks the payments, completes
 * them, and writes the events and the journal. It takes two round trips and one commit for a group of any size. A
 * payment by signed authorization is first settled by its facilitator, on its own.
 */
@Injectable()
export class SettlePayment {
  private readonly settlements = new GroupCommit<DueCall, Output | typeof NOT_MOVED_YET>((items) =>
    this.settleAll(items),
  );

  constructor(
    private readonly database: Database,
    private readonly reconcilePayment: ReconcilePayment,
    private readonly charge: ChargeCalls,
    private readonly settleAuthorization: SettleAuthorization,
  ) {}

  /**
   * A transfer costs six statements in three round trips and one shared commit. A signed payment costs eight statements
   * and two shared commits.
   */
  @HandleRequest(settlePayment)
  async execute(input: Input, context: RequestContext): Promise<Output> {
    if (input.isSigned) return this.settleAuthorization.execute(input, context);
    const settled = await this.settlements.submit({
      input,
      context: { requestId: context.requestId, traceparent: context.traceparent },
    });
    return settled === NOT_MOVED_YET ? this.settleAuthorization.execute(input, context) : settled;
  }

  private settleAll(items: DueCall[]): Promise<(Output | typeof NOT_MOVED_YET | Error)[]> {
    return this.database.transaction(async (tx) => {
      const payments = await this.reconcilePayment.lockAll(
        tx,
        items.map(({ input }) => input.paymentId),
      );
      const due: Due[] = [];
      const unused = new Map<LockedPayment, DueCall>();
      const results = items.map((item): Output | typeof NOT_MOVED_YET | Error => {
        const payment = payments.get(item.input.paymentId);
        if (payment && payment.authorization_id !== null) return NOT_MOVED_YET;
        if (payment?.state === 'completed' && payment.completed_at)
          return { paymentId: payment.id, completedAt: payment.completed_at.toISOString(), transfer: null };
        if (payment && (unused.has(payment) || hasEndedUnused(payment)))
          return { paymentId: payment.id, completedAt: payment.as_of.toISOString(), transfer: null };
        if (payment?.state !== 'verified' || !isForCall(payment)) return refuse(settlePayment, 'not_payable', {});
        if (usedNothing(payment, item.input)) {
          unused.set(payment, item);
          return { paymentId: payment.id, completedAt: payment.as_of.toISOString(), transfer: null };
        }
        // A repeated settlement in the same group finds the payment completed.
        payment.state = 'completed';
        payment.completed_at = payment.as_of;
        due.push({ ...item, payment });
        return { paymentId: payment.id, completedAt: payment.as_of.toISOString(), transfer: null };
      });
      await this.charge.execute(tx, due);
      for (const [payment, item] of unused) await this.charge.endUnused(tx, payment, item);
      return results;
    });
  }
}
