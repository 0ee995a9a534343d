import { randomBytes } from 'node:crypto';
import { paySandbox } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { formatDecimal } from '@market/kernel';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql, type Tx } from '@market/persistence';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Inject, Injectable } from '@nestjs/common';
import { Budgets } from '../budgets/budgets.js';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { ReconcilePayment, type LockedPayment } from './reconcile-payment.js';
import { SandboxRail } from '../rails/sandbox/sandbox.rail.js';
import type { PaymentState } from './payment-state.js';
import { paymentsAndOffers, worthMicros, type PaymentRow } from './payment.js';

type Input = InputOf<typeof paySandbox>;
type Output = OutputOf<typeof paySandbox>;

const findOwn = sql(
  'sandbox.find-own',
  // Sandbox money cannot pay an offer of a real rail.
  `SELECT id FROM ${paymentsAndOffers('p.relay_request_id = $1')} p
   WHERE buyer_id = $2 AND purpose <> 'fee' AND rail = 'sandbox'`,
);
const addTransfer = sql(
  'sandbox.add-transfer',
  `INSERT INTO sandbox_transfers (transaction_hash, payment_id, amount_base_units, final_at)
   VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 second')`,
);
const expireNow = sql('sandbox.expire-now', `UPDATE payments SET state = 'expired' WHERE id = $1`);

const PAID: readonly PaymentState[] = ['verified', 'completed'];

interface Paid {
  payment: PaymentRow;
  sentBaseUnits: bigint;
  transactionHash: string | null;
  /** False if the offer can no longer be paid. */
  isPayable: boolean;
}

/** Simulates the chain: stores a transfer for the sandbox rail, then reconciles the payment like any other. */
@Injectable()
export class PaySandbox {
  constructor(
    private readonly database: Database,
    private readonly reconcilePayment: ReconcilePayment,
    private readonly rail: SandboxRail,
    private readonly budgets: Budgets,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  /** The id of the rail whose payments can be paid here. */
  get railId(): string {
    return this.rail.id;
  }

  @HandleRequest(paySandbox)
  async execute({ relay_request_id, outcome }: Input, context: RequestContext): Promise<Output> {
    if (this.platform.paymentsMode !== 'sandbox') throw refuse(paySandbox, 'sandbox_only', {});
    const [own] = await this.database.query<{ id: string }>(findOwn, [
      relay_request_id,
      principalOf(context).accountId,
    ]);
    if (!own) throw refuse(paySandbox, 'payment_not_found', {});
    const { payment, sentBaseUnits, transactionHash, isPayable } = await this.pay(own.id, outcome, context);
    if (!isPayable) throw refuse(paySandbox, 'offer_not_payable', { status: payment.state });
    return {
      payment_id: payment.id,
      relay_request_id: payment.relay_request_id,
      status: payment.state,
      outcome,
      received_amount: formatDecimal(sentBaseUnits, payment.decimals),
      currency: payment.currency,
      transaction_hash: transactionHash ?? '',
    };
  }

  /** If the payment is paid or expired, nothing changes, so a client may repeat a request whose answer was lost. */
  pay(paymentId: string, outcome: Input['outcome'], context: RequestContext): Promise<Paid> {
    return this.database.transaction(async (tx) => {
      const payment = await this.reconcilePayment.lock(tx, paymentId);
      const before = await this.rail.observe({ paymentId }, tx);
      if (payment.state !== 'pending' && payment.state !== 'underpaid')
        return { ...before, payment, isPayable: PAID.includes(payment.state) };
      await this.budgets.reserve(tx, payment, context);
      const hash = await this.transfer(tx, payment, outcome, before.sentBaseUnits);
      const { sentBaseUnits, ...after } = await this.rail.observe({ paymentId }, tx);
      const transactionHash = hash ?? after.transactionHash;
      const moved =
        outcome === 'late'
          ? await this.arriveLate(tx, payment, sentBaseUnits, hash, context)
          : await this.reconcilePayment.apply(
              tx,
              payment,
              { ...after, transactionHash, failed: outcome === 'failed' },
              context,
            );
      return { payment: moved, sentBaseUnits, transactionHash, isPayable: true };
    });
  }

  /** @returns the transaction's hash, also of a failed one; null if there is nothing to send. */
  private async transfer(
    tx: Tx,
    payment: LockedPayment,
    outcome: Input['outcome'],
    sentBefore: bigint,
  ): Promise<string | null> {
    const hash = `0x${randomBytes(32).toString('hex')}`;
    if (outcome === 'failed') return hash;
    const amount = amountOf(outcome, payment, sentBefore);
    if (amount === 0n) return null;
    await tx.query(addTransfer, [
      hash,
      payment.id,
      amount,
      outcome === 'pending' ? this.config.sandboxPendingSeconds : 0,
    ]);
    return hash;
  }

  /** Simulates money that arrives after the offer expired. All of it is refunded. */
  private async arriveLate(
    tx: Tx,
    payment: LockedPayment,
    sent: bigint,
    transactionHash: string | null,
    context: RequestContext,
  ): Promise<PaymentRow> {
    if (payment.state === 'pending') await tx.query(expireNow, [payment.id]);
    return this.reconcilePayment.markRefundDue(
      tx,
      payment,
      { receivedBaseUnits: sent, transactionHash },
      'paid_late',
      worthMicros(payment, sent),
      context,
    );
  }
}

/**
 * The base units of the next transfer: the missing amount, half of it, or the missing amount and half the price. If the
 * whole price was sent already, the result is 0.
 */
function amountOf(outcome: Exclude<Input['outcome'], 'failed'>, payment: LockedPayment, sentBefore: bigint): bigint {
  const price = BigInt(payment.amount_base_units);
  const missing = price - sentBefore;
  if (missing <= 0n) return 0n;
  if (outcome === 'underpaid') return missing / 2n;
  if (outcome === 'overpaid') return missing + (price + 1n) / 2n;
  return missing;
}
