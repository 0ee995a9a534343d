import { settlePayment } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { invariant } from '@market/kernel';
import { newRequestContext, Refusal, refuse, type RequestContext } from '@market/messaging';
import { Database, GroupCommit, sql, withParameters, type Tx } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { BookFees } from '../fees/book-fees.js';
import { verifySale } from '../journal/verify-journal.js';
import { StartSubscription } from '../subscriptions/start-subscription.js';
import { timed } from '../rails/metrics.js';
import type { HeldAuthorization, Settlement } from '../rails/x402/facilitator.js';
import { Authorizations, type SignedPayment } from './authorizations.js';
import { ChargeCalls, type Due } from './charge-calls.js';
import { messageOf } from './message-of.js';
import { ReconcilePayment } from './reconcile-payment.js';
import { settlements } from './metrics.js';
import { isForCall, isForSubscription, paymentColumns, paysBySignature, type PaymentRow } from './payment.js';
import { OfferReceiptSigner } from './offer-receipt-signer.js';

type Input = InputOf<typeof settlePayment>;
type Output = OutputOf<typeof settlePayment>;

export interface AuthorizationRow {
  id: string;
  payment_id: string;
  state: 'held' | 'settling' | 'settled' | 'refused' | 'lapsed';
  payer: string;
  nonce: string;
  valid_before: Date;
  payload: string;
  /** The call to charge for after the settlement; null if it is settled before the seller is called. */
  settlement: Input | null;
  attempts: number;
  created_at: Date;
}

type BegunColumns = Pick<AuthorizationRow, 'payer' | 'nonce' | 'valid_before' | 'payload' | 'attempts'> & {
  held_at: Date;
};

const COLUMNS =
  'a.id, a.payment_id, a.state, a.payer, a.nonce, a.valid_before, a.payload, a.settlement, a.attempts, a.created_at';
const find = sql('authorizations.find', `SELECT ${COLUMNS} FROM authorizations a WHERE a.id = $1`);
const payments = sql('payments.of-authorization', `SELECT ${paymentColumns('p')} FROM payments p WHERE p.id = $1`);
/** The lease of a settlement, after which another process may continue it. */
const LEASE = `interval '2500 milliseconds'`;
const RENEW_INTERVAL_MS = 500;

/** The intent to settle is stored before the facilitator is asked, so that any process can finish it. */
const SETTLING = `state = 'settling', attempts = a.attempts + 1, tried_at = now(), settling_until = now() + ${LEASE}`;
const begin = withParameters({ claims: 'payment_id uuid, fence int, settlement jsonb' }, ({ claims }) => {
  const ofClaim = (column: string): string =>
    `ARRAY(SELECT ${column} FROM ${claims.table} WHERE payment_id = p.id AND fence = p.fence)`;
  return sql(
    'authorizations.begin',
    `WITH begun AS (
       UPDATE payments p SET state = 'indeterminate', lease_until = NULL
       WHERE p.id = ANY(${claims.arrays.payment_id}) AND p.fence = ANY(${ofClaim('fence')})
         AND p.state = 'in_flight' AND p.authorization_id IS NOT NULL AND p.transaction_hash IS NULL
       RETURNING ${paymentColumns('p')}, (${ofClaim('settlement')})[1] AS settlement
     )
     UPDATE authorizations a SET ${SETTLING}, settlement = b.settlement FROM begun b
     WHERE a.id = ANY(ARRAY(SELECT authorization_id FROM begun)) AND a.id = b.authorization_id
     RETURNING ${paymentColumns('b')}, a.payer, a.nonce, a.valid_before, a.payload, a.attempts, a.created_at AS held_at`,
  );
});
const beginFirst = sql(
  'authorizations.begin-first',
  `WITH payment AS (UPDATE payments SET state = 'indeterminate', lease_until = NULL WHERE id = $1)
   UPDATE authorizations a SET ${SETTLING}, settlement = NULL WHERE a.id = $2 RETURNING ${COLUMNS}`,
);
const takeAgain = sql(
  'authorizations.take-again',
  `UPDATE authorizations a SET attempts = a.attempts + 1, tried_at = now(), settling_until = now() + ${LEASE}
   WHERE a.id IN (
     SELECT id FROM authorizations WHERE state = 'settling' AND settling_until < now()
     ORDER BY settling_until LIMIT 50 FOR UPDATE SKIP LOCKED)
   RETURNING ${COLUMNS}`,
);
const renew = sql(
  'authorizations.renew',
  `UPDATE authorizations a SET settling_until = now() + ${LEASE} FROM unnest($1::uuid[], $2::int[]) AS held (id, attempts)
   WHERE a.id = held.id AND a.attempts = held.attempts AND a.state = 'settling'`,
);
const postpone = sql(
  'authorizations.postpone',
  `UPDATE authorizations SET settling_until = now() + $3 * interval '1 millisecond' WHERE id = $1 AND attempts = $2 AND state = 'settling'`,
);
/**
 * A payer whose last settlement failed is trusted again after a settlement that began later. Payers are locked in the
 * order of their keys, as `ClaimSignedPayment` locks them, so that the two do not deadlock.
 */
const settled = withParameters(
  { settlements: 'payment_id uuid, authorization_id uuid, transaction_hash text' },
  ({ settlements }) => {
    const { payment_id, authorization_id, transaction_hash } = settlements.arrays;
    return sql(
      'authorizations.settled',
      `WITH payment AS (
         UPDATE payments p SET transaction_hash = (${transaction_hash})[array_position(${payment_id}, p.id)],
           received_base_units = p.amount_base_units
         WHERE p.id = ANY(${payment_id}) RETURNING p.id, p.amount_base_units
       ), settled AS (
         UPDATE authorizations a SET state = 'settled' WHERE a.id = ANY(${authorization_id})
         RETURNING a.payment_id, a.network, a.asset, a.payer, a.tried_at
       ), total AS (
         SELECT network, asset, payer, max(tried_at) AS tried_at, sum(amount_base_units) AS base_units
         FROM settled JOIN payment ON payment.id = settled.payment_id GROUP BY network, asset, payer
       ), locked AS (
         SELECT network, asset, payer, total.tried_at, total.base_units FROM payers JOIN total USING (network, asset, payer)
         ORDER BY network, asset, payer FOR UPDATE OF payers
       )
       UPDATE payers y
       SET settles_first_since = CASE WHEN t.tried_at < y.settles_first_since THEN y.settles_first_since END,
         settled_base_units = y.settled_base_units + t.base_units
       FROM locked t WHERE y.network = t.network AND y.asset = t.asset AND y.payer = t.payer`,
    );
  },
);
/**
 * The money moved before the call was delivered, so the payment is verified like one by transfer: it can be claimed
 * until `retry_until`, and is refunded after that.
 */
const paid = sql(
  'payments.paid-first',
  `UPDATE payments SET state = 'verified', verified_at = now(), retry_until = now() + $2 * interval '1 second'
   WHERE id = $1 AND state IN ('indeterminate', 'verified')`,
);
/** Applies only to the last attempt, because the result of an earlier one may be outdated. */
const refused = sql(
  'authorizations.refused',
  `WITH refused AS (
     UPDATE authorizations SET state = 'refused', reason = $2 WHERE id = $1 AND state = 'settling' AND attempts = $3
     RETURNING payment_id
   ), payment AS (
     UPDATE payments p SET state = CASE WHEN expires_at > now() THEN 'pending' ELSE 'expired' END, authorization_id = NULL
     FROM refused r WHERE p.id = r.payment_id AND p.state = 'indeterminate'
   )
   SELECT payment_id FROM refused`,
);

/** Authorizations of this payer are settled before the seller is called, until a later settlement succeeds. */
const settleNextFirst = sql(
  'payers.settle-first',
  `UPDATE payers y SET settles_first_since = clock_timestamp() FROM authorizations a
   WHERE a.id = $1 AND y.network = a.network AND y.asset = a.asset AND y.payer = a.payer`,
);

const RETRY_SECONDS = 2;

/** The settlement of a claimed payment that an authorization pays, with its intent stored. */
interface Begun {
  authorization: AuthorizationRow;
  payment: PaymentRow;
}
interface Learned {
  authorization: AuthorizationRow;
  transactionHash: string;
  context: Pick<RequestContext, 'requestId' | 'traceparent'>;
}
type Completed = { payment: PaymentRow; completedAt: Date };

/**
 * Settles a held authorization through its facilitator, then charges for the call. The intent is committed first and
 * the charge after the facilitator's answer. In between the payment is `indeterminate`; a retry or the job submits the
 * same payload again, which moves the money at most once. The state ends when the chain shows that the authorization
 * was used for this payment, or can never be used.
 */
@Injectable()
export class SettleAuthorization implements OnApplicationBootstrap {
  private readonly logger = new Logger('SettleAuthorization');
  /** The settlements in flight in this process, by the ids of their authorizations. */
  private readonly underSettlement = new Map<string, number>();
  private readonly intents = new GroupCommit<Input, Begun | null>((items) => this.begin(items));
  private readonly completions = new GroupCommit<Learned, Completed>((items) => this.complete(items));

  constructor(
    private readonly database: Database,
    private readonly authorizations: Authorizations,
    private readonly reconcilePayment: ReconcilePayment,
    private readonly charge: ChargeCalls,
    private readonly bookFees: BookFees,
    private readonly startSubscription: StartSubscription,
    private readonly offerReceiptSigner: OfferReceiptSigner,
    private readonly jobs: Jobs,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('settle-authorizations', this.config.resumeIntervalMs, () => this.run());
    this.jobs.every('renew-settlements', RENEW_INTERVAL_MS, () => this.renew());
  }

  /** @throws Refusal `claim_lost`, `settlement_refused`, `settlement_unknown`. */
  async execute(input: Input, context: Pick<RequestContext, 'requestId' | 'traceparent'>): Promise<Output> {
    const begun = await this.intents.submit(input);
    if (begun) return this.finish(begun.authorization, context, begun.payment);
    const completed = await this.database.transaction((tx) => this.chargeSettled(tx, input, context));
    return {
      paymentId: completed.id,
      completedAt: completed.completed_at!.toISOString(),
      transfer: await this.transferOf(completed),
    };
  }

  /** Continues settlements whose outcome is unknown and which no process continues. Several replicas share them. */
  async run(): Promise<void> {
    const rows = await this.database.query<AuthorizationRow>(takeAgain);
    await Promise.all(
      rows.map((row) =>
        (row.settlement ? this.finish(row, newRequestContext()) : this.settleFirst(row)).catch((error: unknown) => {
          if (!(error instanceof Refusal)) this.logger.warn(`authorization ${row.id} stays open: ${messageOf(error)}`);
        }),
      ),
    );
  }

  /**
   * The transfer that completed a payment by authorization, with its signed receipt. Null if the books were altered,
   * because nothing is signed from altered books.
   */
  async transferOf(payment: PaymentRow): Promise<Output['transfer']> {
    if (payment.authorization_id === null || payment.transaction_hash === null) return null;
    const [row] = await this.database.query<AuthorizationRow>(find, [payment.authorization_id]);
    const changed = await verifySale(this.database, payment.id);
    if (changed !== null) this.logger.error(`the transfer of payment ${payment.id} is not signed for: ${changed}`);
    return row && changed === null
      ? this.toTransfer(payment, row, payment.transaction_hash, payment.completed_at!)
      : null;
  }

  private async toTransfer(
    payment: PaymentRow,
    { payer }: AuthorizationRow,
    transaction: string,
    completedAt: Date,
  ): Promise<NonNullable<Output['transfer']>> {
    const transfer = { transaction, network: payment.network, payer };
    return { ...transfer, receipt: await this.offerReceiptSigner.receipt(payment, transfer, completedAt) };
  }

  /** Stores the intent to settle a held authorization before its seller is called. Its payment is locked. */
  async beginFirst(tx: Tx, { id, authorization_id }: PaymentRow): Promise<AuthorizationRow> {
    const [row] = await tx.query<AuthorizationRow>(beginFirst, [id, authorization_id]);
    invariant(row, `authorization ${authorization_id} exists`);
    return row;
  }

  /**
   * Settles an authorization before anything is delivered. The transaction that records the settlement also books a
   * payment of fees, or starts a subscription. If another subscription has started meanwhile, the payment stays
   * verified, and its money is owed back to the buyer.
   * @throws Refusal `settlement_refused`, `settlement_unknown`.
   */
  async settleFirst(
    row: AuthorizationRow,
    context: Pick<RequestContext, 'requestId' | 'traceparent'> = newRequestContext(),
  ): Promise<void> {
    const transactionHash = await this.learn(row);
    await this.database.transaction(async (tx) => {
      const payment = await this.reconcilePayment.lock(tx, row.payment_id);
      if (payment.state !== 'indeterminate') return;
      tx.send(settled, settledValues([{ payment, transactionHash }]));
      if (payment.purpose === 'fee')
        await this.bookFees.execute(tx, { ...payment, transaction_hash: transactionHash }, payment.as_of, context);
      else await tx.query(paid, [payment.id, this.config.retryWindowSeconds]);
      if (isForSubscription(payment))
        await this.startSubscription.execute(tx, { ...payment, transaction_hash: transactionHash }, context);
    });
  }

  /**
   * The transaction that settled an authorization which is still stored as held, as after a restore from a backup that
   * was made before the settlement; null if there is none.
   * @throws Error if the chain cannot be read.
   */
  async findSettled(paymentId: string): Promise<string | null> {
    const [payment] = await this.database.query<PaymentRow>(payments, [paymentId]);
    if (!payment || !paysBySignature(payment)) return null;
    const [row] = await this.database.query<AuthorizationRow>(find, [payment.authorization_id]);
    const signed = this.authorizations.read(payment, row!.payload);
    if (!(await isUsed(row!, signed))) return null;
    const outcome = await signed.exact.witness.settlementOf(toHeld(row!), signed.requirements);
    return outcome?.settled ? outcome.transactionHash : null;
  }

  /** Records that a held authorization was settled. Its payment is locked. */
  async recordSettled(tx: Tx, payment: PaymentRow, transactionHash: string): Promise<void> {
    tx.send(settled, settledValues([{ payment, transactionHash }]));
    await tx.query(paid, [payment.id, this.config.retryWindowSeconds]);
  }

  /** @returns null for a payment that is no longer claimed or was settled before. */
  private async begin(items: Input[]): Promise<(Begun | null)[]> {
    const rows = await this.database.query<PaymentRow & BegunColumns>(
      begin,
      begin.values({
        claims: items.map((input) => ({
          payment_id: input.paymentId,
          fence: input.fence,
          settlement: JSON.stringify(input),
        })),
      }),
    );
    const begun = new Map(rows.map((row) => [row.id, row]));
    return items.map((settlement) => {
      const row = begun.get(settlement.paymentId);
      // If a payment occurs twice in a group, only the first request settles it.
      if (!row || row.fence !== settlement.fence || !begun.delete(row.id)) return null;
      const { payer, nonce, valid_before, payload, attempts, held_at, ...payment } = row;
      const held = { payer, nonce, valid_before, payload, attempts, created_at: held_at };
      const authorization = { ...held, id: row.authorization_id!, payment_id: row.id, state: 'settling' as const };
      return { payment, authorization: { ...authorization, settlement } };
    });
  }

  /**
   * Charges for a call whose authorization was settled before its seller was called.
   * @throws Refusal `claim_lost`, `settlement_unknown`.
   */
  private async chargeSettled(
    tx: Tx,
    input: Input,
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
  ): Promise<PaymentRow> {
    const payment = await this.reconcilePayment.lock(tx, input.paymentId);
    if (payment.state === 'completed') return payment;
    if (payment.state === 'indeterminate') throw unknown();
    const { state, fence, authorization_id, transaction_hash } = payment;
    if (state !== 'in_flight' || fence !== input.fence || authorization_id === null)
      throw refuse(settlePayment, 'claim_lost', {});
    if (transaction_hash === null || !isForCall(payment)) throw unknown();
    const [{ payer } = { payer: undefined }] = await tx.query<AuthorizationRow>(find, [authorization_id]);
    await this.charge.execute(tx, [{ input, context, payment, payer }]);
    return { ...payment, completed_at: payment.as_of };
  }

  private async finish(
    row: AuthorizationRow,
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
    known?: PaymentRow,
  ): Promise<Output> {
    const transactionHash = await this.learn(row, known);
    const learned = { authorization: row, transactionHash, context };
    const { payment: completed, completedAt } = await this.completions.submit(learned);
    return {
      paymentId: completed.id,
      completedAt: completedAt.toISOString(),
      transfer: await this.toTransfer(completed, row, transactionHash, completedAt),
    };
  }

  private async renew(): Promise<void> {
    if (this.underSettlement.size > 0)
      await this.database.query(renew, [[...this.underSettlement.keys()], [...this.underSettlement.values()]]);
  }

  /** The transaction that moved the money. @throws Refusal `settlement_refused`, `settlement_unknown`. */
  private async learn(row: AuthorizationRow, known?: PaymentRow): Promise<string> {
    const payment = known ?? (await this.database.query<PaymentRow>(payments, [row.payment_id]))[0];
    invariant(payment, `payment ${row.payment_id} exists`);
    this.underSettlement.set(row.id, row.attempts);
    const outcome = await this.settle(row, payment).finally(() => this.underSettlement.delete(row.id));
    settlements.inc({
      rail: payment.rail,
      network: payment.network,
      outcome: outcome ? (outcome.settled ? 'settled' : 'refused') : 'unknown',
    });
    if (outcome?.settled) return outcome.transactionHash;
    await this.database.query(settleNextFirst, [row.id]);
    if (!outcome) {
      await this.database.query(postpone, [row.id, row.attempts, this.config.sweepIntervalMs]);
      throw unknown();
    }
    if ((await this.database.query(refused, [row.id, outcome.reason, row.attempts])).length === 0) throw unknown();
    throw refuse(settlePayment, 'settlement_refused', { reason: outcome.reason });
  }

  /** @returns null while the outcome is unknown. */
  private async settle(row: AuthorizationRow, payment: PaymentRow): Promise<Settlement | null> {
    const signed = this.authorizations.read(payment, row.payload);
    try {
      const outcome = await timed('facilitator', 'settle', () =>
        signed.exact.facilitator.settle(signed.payload, signed.requirements),
      );
      if (outcome.settled && (await isConfirmed(outcome.transactionHash, row, signed))) return outcome;
      // At the first attempt no earlier submission can be in flight, except one that a restore from a backup has
      // undone.
      if (!outcome.settled && row.attempts === 1 && !(await isUsed(row, signed))) return outcome;
      if (outcome.settled)
        this.logger.error(`the facilitator of payment ${payment.id} names a transaction that did not pay it`);
    } catch (error) {
      this.logger.warn(`the facilitator of payment ${payment.id} leaves it open: ${messageOf(error)}`);
    }
    return this.lookUp(row, signed);
  }

  private async lookUp(row: AuthorizationRow, { exact, requirements }: SignedPayment): Promise<Settlement | null> {
    try {
      return await exact.witness.settlementOf(toHeld(row), requirements);
    } catch (error) {
      this.logger.warn(
        `what became of the authorization of payment ${row.payment_id} is not known: ${messageOf(error)}`,
      );
      return null;
    }
  }

  /** Charges for settlements that ended at about the same time, in one transaction. */
  private complete(items: Learned[]): Promise<(Completed | Error)[]> {
    return this.database.transaction(async (tx) => {
      const payments = await this.reconcilePayment.lockAll(
        tx,
        items.map(({ authorization }) => authorization.payment_id),
      );
      const settlements: { payment: PaymentRow; transactionHash: string }[] = [];
      const due: Due[] = [];
      const completed = items.map(({ authorization, transactionHash, context }): Completed | Error => {
        const { id, payment_id, settlement: input, payer } = authorization;
        const payment = payments.get(payment_id);
        if (payment?.state === 'completed') return { payment, completedAt: payment.completed_at! };
        if (payment?.state !== 'indeterminate' || payment.authorization_id !== id || !isForCall(payment) || !input)
          return new Error(`payment ${payment_id} does not wait for the settlement of authorization ${id}`);
        settlements.push({ payment, transactionHash });
        due.push({ input, context, payment: { ...payment, transaction_hash: transactionHash }, payer });
        // If a payment occurs twice in a group, the second item finds it completed.
        Object.assign(payment, { state: 'completed', completed_at: payment.as_of });
        return { payment, completedAt: payment.as_of };
      });
      if (due.length === 0) return completed;
      tx.send(settled, settledValues(settlements));
      await this.charge.execute(tx, due);
      return completed;
    });
  }
}

const settledValues = (settlements: { payment: PaymentRow; transactionHash: string }[]): unknown[] =>
  settled.values({
    settlements: settlements.map(({ payment, transactionHash }) => ({
      payment_id: payment.id,
      authorization_id: payment.authorization_id,
      transaction_hash: transactionHash,
    })),
  });

const unknown = (): Refusal => refuse(settlePayment, 'settlement_unknown', { retry_after_seconds: RETRY_SECONDS });

export const toHeld = ({ payer, nonce, valid_before, payload, created_at }: AuthorizationRow): HeldAuthorization => ({
  payer,
  nonce,
  validBefore: BigInt(Math.floor(valid_before.getTime() / 1_000)),
  heldAt: created_at,
  text: payload,
});

const isUsed = async (row: AuthorizationRow, { exact, requirements }: SignedPayment): Promise<boolean> =>
  (await exact.witness.isUsed?.(toHeld(row), requirements)) ?? false;

/** Whether the chain confirms the settlement; true if the chain cannot be asked. */
const isConfirmed = (
  transactionHash: string,
  row: AuthorizationRow,
  { exact, requirements }: SignedPayment,
): Promise<boolean> => exact.witness.isSettledBy?.(transactionHash, toHeld(row), requirements) ?? Promise.resolve(true);
