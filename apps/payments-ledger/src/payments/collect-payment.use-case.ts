import { collectPayment } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { paysBySignature } from './payment.js';
import { ReconcilePayment } from './reconcile-payment.js';
import { SettleAuthorization } from './settle-authorization.js';

const RETRY_SECONDS = 2;
/** How long a signature has to last beyond the deadline of a job, so that what comes last is settled too. */
const SETTLED_AFTER = `interval '30 seconds'`;

const hold = sql(
  'payments.hold-for-job',
  `UPDATE payments p SET retry_until = $2::timestamptz + ${SETTLED_AFTER}, in_use_until = $2::timestamptz + ${SETTLED_AFTER}
   FROM authorizations a
   WHERE p.id = $1 AND a.id = p.authorization_id AND p.received_base_units = 0 AND a.valid_before >= $2::timestamptz + ${SETTLED_AFTER}
   RETURNING p.id`,
);
/** If the gateway never ends the job, what was paid is owed back as for any call that was not delivered. */
const keep = sql(
  'payments.keep-for-job',
  `UPDATE payments SET retry_until = greatest(retry_until, $2::timestamptz + $3 * interval '1 second')
   WHERE id = $1 AND state = 'verified'`,
);

/**
 * Settles the signature of a payment while its seller delivers. Afterwards the payment is one whose money has arrived:
 * it is charged, or owed back, when the call ends. The signature for a job is held instead if it lasts long enough.
 */
@Injectable()
export class CollectPayment {
  constructor(
    private readonly database: Database,
    private readonly reconcilePayment: ReconcilePayment,
    private readonly settleAuthorization: SettleAuthorization,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  /** One statement for money that has arrived. A signature costs a settlement, and a commit before and after it. */
  @HandleRequest(collectPayment)
  async execute(
    { paymentId, until }: InputOf<typeof collectPayment>,
    context: RequestContext,
  ): Promise<OutputOf<typeof collectPayment>> {
    const begun = await this.database.transaction(async (tx) => {
      const payment = await this.reconcilePayment.lock(tx, paymentId);
      if (payment.state === 'indeterminate')
        throw refuse(collectPayment, 'settlement_unknown', { retry_after_seconds: RETRY_SECONDS });
      if (payment.state !== 'verified') throw refuse(collectPayment, 'not_payable', {});
      if (!paysBySignature(payment)) return null;
      if (until !== undefined && (await tx.query(hold, [paymentId, until])).length > 0) return 'held';
      return this.settleAuthorization.beginFirst(tx, payment);
    });
    if (begun === 'held') return { transfer: null, isHeld: true };
    const transfer = begun && (await this.settleAuthorization.settleFirst(begun, context));
    if (until !== undefined) await this.database.query(keep, [paymentId, until, this.config.retryWindowSeconds]);
    return { transfer };
  }
}
