import { paymentCompleted, type settlePayment } from '@market/contracts/payments-ledger';
import type { InputOf } from '@market/contracts';
import type { RequestContext } from '@market/messaging';
import { Outbox, sql, withParameters, type OutgoingEvent, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Journal, type JournalRecord } from '../journal/journal.js';
import { callCompleted } from '../journal/posting.js';
import { Authorizations } from './authorizations.js';
import {
  chargeOf,
  feeReceivedMicros,
  owedMicros,
  paidTo,
  paysBySignature,
  quotedMicros,
  splitOf,
  type CallPaymentRow,
  type PaymentRow,
} from './payment.js';
import { ReconcilePayment, type LockedPayment } from './reconcile-payment.js';

/** A payment to charge now, whose row is locked. */
export interface Due {
  input: InputOf<typeof settlePayment>;
  context: Pick<RequestContext, 'requestId' | 'traceparent'>;
  payment: CallPaymentRow & Pick<LockedPayment, 'as_of'>;
  /** The wallet that signed the payment, if any. */
  payer?: string;
}

const complete = withParameters({ at: 'timestamptz', payment_ids: 'uuid[]' }, ({ at, payment_ids }) =>
  sql(
    'payments.complete',
    `UPDATE payments SET state = 'completed', completed_at = ${at} WHERE id = ANY(${payment_ids})`,
  ),
);

/** The price of a call that costs what it uses becomes what was used. */
const price = withParameters(
  { calls: 'id uuid, units bigint, gross_micros bigint, fee_micros bigint, net_micros bigint' },
  ({ calls }) =>
    sql(
      'payments.price-by-use',
      `UPDATE payments p SET units = calls.units, gross_micros = calls.gross_micros, fee_micros = calls.fee_micros,
         net_micros = calls.net_micros
       FROM ${calls.table} WHERE p.id = calls.id`,
    ),
);
/** In one order, because another group may count units of the same quotas. */
const lockQuotas = sql(
  'call-quotas.lock',
  'SELECT FROM call_quotas WHERE id IN (SELECT quota_id FROM payments WHERE id = ANY($1::uuid[])) ORDER BY id FOR UPDATE',
);
const sayUnits = sql('payments.say-units', 'UPDATE payments SET units = $2 WHERE id = $1');

/**
 * Charges for delivered calls: completes the payments, adds their events, and records them in the journal. What was paid
 * for a call that costs what it uses, and not used, is owed back in the same commit.
 */
@Injectable()
export class ChargeCalls {
  constructor(
    private readonly reconcilePayment: ReconcilePayment,
    private readonly authorizations: Authorizations,
    private readonly journal: Journal,
    private readonly outbox: Outbox,
  ) {}

  /** None of them has used nothing, which is no sale. */
  async execute(tx: Tx, asked: Due[]): Promise<void> {
    const due = asked.map(priced);
    const [first] = due;
    if (!first) return;
    const at = first.payment.as_of;
    const byUse = due.filter(({ payment }) => payment.usage !== null);
    const included = byUse.filter(({ payment }) => payment.purpose === 'included').map(({ payment }) => payment.id);
    if (included.length > 0) tx.send(lockQuotas, [included]);
    if (byUse.length > 0) tx.send(price, price.values({ calls: byUse.map(({ payment }) => payment) }));
    tx.send(complete, complete.values({ at, payment_ids: due.map(({ payment }) => payment.id) }));
    // A call that is included was paid for with its period, or is of no price.
    const sales = due.filter(({ payment }) => payment.purpose === 'call');
    if (sales.length === 0) return;
    this.outbox.addAll(
      tx,
      sales.map((item) => toEvent(item, at)),
    );
    const debts: JournalRecord[] = [];
    for (const { payment, context } of byUse) {
      const unused = payment.purpose === 'call' ? unusedMicros(payment) : 0n;
      if (unused > 0n) debts.push(await this.reconcilePayment.oweBack(tx, payment, at, 'unused', unused, context));
    }
    this.journal.record(tx, [...sales.map(toRecord), ...debts], at);
  }

  /** Ends the payment of a delivered call that used nothing: a signature lapses, and all that has come is owed back. */
  async endUnused(tx: Tx, payment: LockedPayment, { input, context }: Pick<Due, 'input' | 'context'>): Promise<void> {
    await tx.query(sayUnits, [payment.id, input.units]);
    if (paysBySignature(payment)) return this.authorizations.lapse(tx, payment.id);
    const came = {
      receivedBaseUnits: BigInt(payment.received_base_units),
      transactionHash: payment.transaction_hash,
    };
    await this.reconcilePayment.markRefundDue(tx, payment, came, 'unused', quotedMicros(payment), context);
  }
}

/** Whether a call that costs what it uses used nothing that has a price. */
export const usedNothing = (payment: PaymentRow, { units }: Due['input']): boolean =>
  payment.purpose === 'call' && chargeOf(payment, units)?.gross === 0n;

/** Whether a payment has ended because its call was delivered and used nothing. */
export const hasEndedUnused = ({ state, units }: PaymentRow): boolean =>
  units !== null && (state === 'refund_due' || state === 'refunded' || state === 'cancelled');

/** What came beyond the most that the call could cost is owed back already. */
const unusedMicros = (payment: PaymentRow): bigint =>
  owedMicros({ ...payment, state: 'completed' }) - owedMicros({ ...payment, state: 'verified' });

function toRecord({ input, payment, payer, context }: Due): JournalRecord {
  return {
    context,
    entry: callCompleted({
      paymentId: payment.id,
      buyerId: payment.buyer_id,
      sellerId: payment.seller_id,
      money: splitOf(payment),
      paid: paidTo(payment),
    }),
    payment,
    sale: {
      payer: payer ?? null,
      exchange: {
        request_digest: Buffer.from(input.requestDigest, 'hex'),
        response_digest: Buffer.from(input.responseDigest, 'hex'),
        seller_status_code: input.sellerStatusCode,
      },
    },
  };
}

/** The call at what it used. */
function priced(due: Due): Due {
  const { payment, input } = due;
  const charge = chargeOf(payment, input.units);
  if (!charge) return due;
  const { gross, fee, net } = charge;
  const amounts = { gross_micros: String(gross), fee_micros: String(fee), net_micros: String(net) };
  return { ...due, payment: { ...payment, ...amounts, units: String(input.units) } };
}

function toEvent({ input, context, payment }: Due, at: Date): OutgoingEvent<typeof paymentCompleted> {
  return {
    contract: paymentCompleted,
    context,
    payload: {
      paymentId: payment.id,
      relayRequestId: payment.relay_request_id,
      gatewayRequestId: payment.gateway_request_id,
      buyerId: payment.buyer_id,
      sellerId: payment.seller_id,
      listingId: payment.listing_id,
      grossMicros: payment.gross_micros,
      feeMicros: payment.fee_micros,
      feeReceivedMicros: feeReceivedMicros(payment),
      sellerStatusCode: input.sellerStatusCode,
      latencyMs: input.latencyMs,
      requestDigest: input.requestDigest,
      responseDigest: input.responseDigest,
      transactionHash: payment.transaction_hash,
      completedAt: at.toISOString(),
    },
  };
}
