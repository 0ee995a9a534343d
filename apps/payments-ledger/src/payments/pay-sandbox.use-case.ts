import { randomBytes } from 'node:crypto';
import { paySandbox } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { formatDecimal } from '@market/kernel';
import { principalOf, refuse, type Call } from '@market/messaging';
import { Database, sql, type Tx } from '@market/persistence';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Inject, Injectable } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { ObservePayment, type LockedPayment } from './observe-payment.js';
import { worthMicros, type PaymentRow } from './payment.js';

type Input = InputOf<typeof paySandbox>;
type Output = OutputOf<typeof paySandbox>;

const findOwn = sql('sandbox.find-own', 'SELECT id FROM payments WHERE relay_request_id = $1 AND buyer_id = $2');
const addTransfer = sql('sandbox.add-transfer', `INSERT INTO sandbox_transfers (transaction_hash, payment_id, amount_base_units, final_at) VALUES ($1, $2, $3, now() + $4 * interval '1 second')`);
const transferred = sql('sandbox.transferred', 'SELECT coalesce(sum(amount_base_units), 0) AS amount, max(transaction_hash) AS hash FROM sandbox_transfers WHERE payment_id = $1');
const expireNow = sql('sandbox.expire-now', `UPDATE payments SET state = 'expired' WHERE id = $1`);

/** Plays the chain: puts a transfer where the sandbox rail looks, then lets the payment be observed as any other. */
@Injectable()
export class PaySandbox {
  constructor(
    private readonly database: Database,
    private readonly observePayment: ObservePayment,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  async execute({ relayRequestId, outcome }: Input, call: Call): Promise<Output> {
    if (this.platform.paymentsMode !== 'sandbox') throw refuse(paySandbox, 'sandbox_only', {});
    const [own] = await this.database.query<{ id: string }>(findOwn, [relayRequestId, principalOf(call).accountId]);
    if (!own) throw refuse(paySandbox, 'payment_not_found', {});
    return this.database.transaction(async (tx) => {
      const payment = await this.observePayment.lock(tx, own.id);
      const paidBefore = await this.transferredTo(tx, payment.id);
      const done = (row: PaymentRow, received: bigint, hash: string): Output => ({
        payment_id: row.id,
        relay_request_id: row.relay_request_id,
        status: row.state,
        outcome,
        received_amount: formatDecimal(received, row.decimals),
        currency: row.currency,
        transaction_hash: hash,
      });
      // Paying again what is paid changes nothing: an agent that lost the answer may repeat itself.
      if (['verified', 'in_flight', 'completed'].includes(payment.state)) return done(payment, paidBefore.amount, paidBefore.hash);
      if (payment.state !== 'pending' && payment.state !== 'underpaid') throw refuse(paySandbox, 'offer_not_payable', { status: payment.state });
      const hash = `0x${randomBytes(32).toString('hex')}`;
      if (outcome === 'failed') return done(await this.observePayment.apply(tx, payment, { receivedBaseUnits: 0n, transactionHash: hash, failed: true }, call), 0n, hash);
      const amount = amountOf(outcome, payment, paidBefore.amount);
      await tx.query(addTransfer, [hash, payment.id, amount, outcome === 'pending' ? this.config.sandboxPendingSeconds : 0]);
      const received = paidBefore.amount + amount;
      const observation = { receivedBaseUnits: received, transactionHash: hash };
      if (outcome === 'pending') return done(payment, received, hash);
      if (outcome === 'late' && payment.state === 'pending') {
        await tx.query(expireNow, [payment.id]);
        return done(await this.observePayment.oweBack(tx, payment, observation, 'paid_late', worthMicros(payment, received), call), received, hash);
      }
      return done(await this.observePayment.apply(tx, payment, observation, call), received, hash);
    });
  }

  private async transferredTo(tx: Tx, paymentId: string): Promise<{ amount: bigint; hash: string }> {
    const [row] = await tx.query<{ amount: string; hash: string | null }>(transferred, [paymentId]);
    return { amount: BigInt(row!.amount), hash: row!.hash ?? '' };
  }
}

/** Base units of the next transfer: what is missing, half of it, or half as much again as the price. */
function amountOf(outcome: Input['outcome'], payment: LockedPayment, paidBefore: bigint): bigint {
  const price = BigInt(payment.amount_base_units);
  const missing = price > paidBefore ? price - paidBefore : 1n;
  if (outcome === 'underpaid') return missing / 2n > 0n ? missing / 2n : 1n;
  if (outcome === 'overpaid') return missing + (price + 1n) / 2n;
  return missing;
}
