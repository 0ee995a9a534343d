import { Database, sql } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { Authorizations } from '../payments/authorizations.js';
import { messageOf } from '../payments/message-of.js';
import { atUse } from '../payments/hand-in.js';
import { movedBaseUnits, paymentColumns, watchedOffer, type PaymentRow } from '../payments/payment.js';
import { schemeOf, toHeld, type AuthorizationRow } from '../payments/authorization-rows.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import { TransactionNotFoundError } from '../rails/x402/facilitator.js';

/**
 * Ended payments for which another party moved money or could have moved it: by a settlement, or by a signature that
 * was refused or lapsed.
 */
const settlements = `FROM payments p LEFT JOIN reconciliations r ON r.payment_id = p.id
   WHERE p.id > $1 AND p.rail NOT IN ('sandbox', 'included') AND p.state NOT IN ('pending', 'underpaid', 'verified', 'indeterminate')
     AND (p.transaction_hash IS NOT NULL OR p.state IN ('completed', 'failed', 'refund_due') OR EXISTS (
       SELECT 1 FROM authorizations a WHERE a.payment_id = p.id AND a.state IN ('refused', 'lapsed')))`;
const all = sql('payments.to-reconcile', `SELECT ${paymentColumns('p')} ${settlements} ORDER BY p.id LIMIT $2`);
/** Payments that were not reconciled yet, and unexplained ones again once a day. */
const open = sql(
  'payments.to-reconcile-now',
  `SELECT ${paymentColumns('p')} ${settlements}
     AND coalesce(p.completed_at, p.verified_at, p.expires_at) < now() - $3 * interval '1 millisecond'
     AND (r.payment_id IS NULL OR (r.unexplained IS NOT NULL AND r.checked_at < now() - interval '1 day'))
   ORDER BY p.id LIMIT $2`,
);
const signatures = sql(
  'authorizations.ended-of-payment',
  `SELECT a.* FROM authorizations a WHERE a.payment_id = $1 AND a.state IN ('settled', 'refused', 'lapsed') ORDER BY a.id`,
);
const store = sql(
  'reconciliations.store',
  `INSERT INTO reconciliations (payment_id, checked_at, unexplained) VALUES ($1, now(), $2)
   ON CONFLICT (payment_id) DO UPDATE SET checked_at = now(), unexplained = excluded.unexplained`,
);

/** Small, because public RPC servers and Relay limit requests. */
const CONCURRENCY = 5;
const PAGE = 50;

export interface Reconciled {
  payment: PaymentRow;
  /** `unknown` if a chain or a provider gave no answer. */
  outcome: 'explained' | 'unexplained' | 'unknown';
  why: string | null;
}

/**
 * Compares the settlements in the books with the records of others: the chain if an RPC server is configured, Relay, or
 * otherwise the stored answer of the facilitator. It corrects nothing. For an unexplained settlement it stores the
 * reason.
 */
@Injectable()
export class ReconcileSettlements {
  constructor(
    private readonly database: Database,
    private readonly authorizations: Authorizations,
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  /**
   * Reconciles the next page of settlements after the payment `after`.
   * @param olderThanMs selects only settlements that were not reconciled yet and ended at least this long ago.
   */
  async page(after: string, olderThanMs?: number): Promise<Reconciled[]> {
    const payments =
      olderThanMs === undefined
        ? await this.database.query<PaymentRow>(all, [after, PAGE])
        : await this.database.query<PaymentRow>(open, [after, PAGE, olderThanMs]);
    const reconciled: Reconciled[] = [];
    for (let first = 0; first < payments.length; first += CONCURRENCY)
      reconciled.push(
        ...(await Promise.all(payments.slice(first, first + CONCURRENCY).map((payment) => this.reconcile(payment)))),
      );
    return reconciled;
  }

  private async reconcile(payment: PaymentRow): Promise<Reconciled> {
    try {
      const why = await this.unexplained(payment);
      await this.database.query(store, [payment.id, why]);
      return { payment, outcome: why === null ? 'explained' : 'unexplained', why };
    } catch (error) {
      return { payment, outcome: 'unknown', why: messageOf(error) };
    }
  }

  /** @returns null if everything is explained. @throws Error if a party that must know gives no answer. */
  private async unexplained(payment: PaymentRow): Promise<string | null> {
    const rail = this.rails.find(({ id }) => id === payment.rail);
    if (!rail) throw new Error(`its rail ${payment.rail} is not configured here`);
    return rail.exact ? this.signed(payment, rail.exact) : carried(payment, rail);
  }

  private async signed(payment: PaymentRow, exact: NonNullable<PaymentRail['exact']>): Promise<string | null> {
    const rows = await this.database.query<AuthorizationRow>(signatures, [payment.id]);
    const { transaction_hash: hash, network, pay_to } = payment;
    const settled = rows.find(({ id, state }) => id === payment.authorization_id && state === 'settled');
    if ((hash !== null || payment.state === 'completed') && (hash === null || !settled))
      return `the books name ${hash ?? 'no transaction'} and ${settled ? 'a' : 'no'} settled signature`;
    const amount = settled
      ? String(movedBaseUnits(payment, schemeOf(settled), settled.settlement?.units))
      : payment.amount_base_units;
    if (settled && payment.received_base_units !== amount)
      return `the books say that ${payment.received_base_units} of ${amount} base units came`;
    // Without an RPC server, only the facilitator's answer is known.
    if (!this.config.x402Chains?.get(network)?.length) return null;
    for (const row of rows) {
      const { requirements } = atUse(this.authorizations.read(payment, row.payload), row, payment);
      if (row === settled) {
        const paid = await exact.witness.isSettledBy!(hash!, toHeld(row), requirements).catch((error: unknown) => {
          if (error instanceof TransactionNotFoundError) return null;
          throw error;
        });
        if (paid === null) return `${hash} is not on ${network}`;
        if (!paid) return `${hash} did not pay ${amount} base units to ${pay_to} by the signature of ${row.payer}`;
      } else {
        const outcome = await exact.witness.settlementOf(toHeld(row), requirements);
        if (!outcome) throw new Error(`a signature that was ${row.state} may still be settled`);
        if (outcome.settled)
          return `${outcome.transactionHash} took ${amount} base units by a signature that is ${row.state} in the books`;
      }
    }
    return null;
  }
}

/** Compares a payment through an external provider. */
async function carried(payment: PaymentRow, rail: PaymentRail): Promise<string | null> {
  const { receivedBaseUnits, transactionHash, arriving } = await rail.observe(watchedOffer(payment));
  if (arriving) throw new Error(`${rail.id} has the money and has not delivered it yet`);
  const [says, booked] = [
    [String(receivedBaseUnits), transactionHash],
    [payment.received_base_units, payment.transaction_hash],
  ];
  if (says.join() !== booked.join())
    return (
      `${rail.id} says that ${says[0]} base units came by ${says[1] ?? 'nothing'}, ` +
      `the books say ${booked[0]} by ${booked[1] ?? 'nothing'}`
    );
  const disposition = receivedBaseUnits === 0n ? await rail.disposition?.(watchedOffer(payment)) : null;
  return disposition && !disposition.explained ? disposition.why : null;
}
