import { settlePayment } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { invariant } from '@market/kernel';
import { newRequestContext, Refusal, refuse, type RequestContext } from '@market/messaging';
import { Database, GroupCommit, recordOperatorAction, type OperatorAction, type Tx } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { BookFees } from '../fees/book-fees.js';
import { verifySale } from '../journal/verify-journal.js';
import { StartSubscription } from '../subscriptions/start-subscription.js';
import { type Settlement } from '../rails/x402/facilitator.js';
import { unwatched, unwatchedChains } from '../rails/x402/x402-settings.js';
import { Authorizations } from './authorizations.js';
import { ChargeCalls, hasEndedUnused, usedNothing, type Due } from './charge-calls.js';
import {
  answered,
  begin,
  beginFirst,
  find,
  leaveUnanswered,
  paid,
  payments,
  postpone,
  refused,
  remember,
  renew,
  settled,
  schemeOf,
  settleNextFirst,
  takeAgain,
  toHeld,
  tryAgain,
  type AuthorizationRow,
  type BegunColumns,
} from './authorization-rows.js';
import { HandIn, isUsed, isWatched } from './hand-in.js';
import { messageOf } from './message-of.js';
import { ReconcilePayment } from './reconcile-payment.js';
import { settlements } from './metrics.js';
import { isForCall, isForSubscription, movedBaseUnits, paysBySignature, type PaymentRow } from './payment.js';
import { OfferReceiptSigner } from './offer-receipt-signer.js';

type Input = InputOf<typeof settlePayment>;
type Output = OutputOf<typeof settlePayment>;

const RETRY_SECONDS = 2;
const RENEW_INTERVAL_MS = 500;
/** How long a request waits for its settlement, of the time that its gateway reserves for it. */
const WAIT_MS = 10_000;
/** The time in which the answer reaches the requester. */
const ANSWER_MS = 1_000;
/** The first pause between two hand-ins of one authorization; each is half as long again as the one before. */
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 600_000;

/** The settlement of a payment that an authorization pays, with its intent stored. */
interface Begun {
  authorization: AuthorizationRow;
  payment: PaymentRow;
}
/** The request that waits for a settlement. Nobody waits for what a job settles, or any more after `until`. */
interface Waiting {
  until: number;
  /** The payment is recorded as answered, so the request waits for the commit, however long that takes. */
  isAnswered?: true;
}
const NOBODY: Waiting = { until: 0 };
const waitingUntil = (deadlineAt: number | undefined): Waiting => ({
  until: Math.min(Date.now() + WAIT_MS, (deadlineAt ?? Infinity) - ANSWER_MS),
});

/** The operator and the command that the audit log records. */
type Operator = Pick<OperatorAction, 'operator' | 'command'>;
type Context = Pick<RequestContext, 'requestId' | 'traceparent'> & Partial<Pick<RequestContext, 'deadlineAt'>>;
interface Learned {
  authorization: AuthorizationRow;
  /** Null if the facilitator says that the authorization was used, and no chain can say by which transaction. */
  transactionHash: string | null;
  context: Context;
  waiting: Waiting;
}
/** The transfer that settled an authorization. */
type Moved = Omit<NonNullable<Output['transfer']>, 'receipt'>;
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
  private readonly handIn: HandIn;
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
  ) {
    this.handIn = new HandIn(database, authorizations);
  }

  onApplicationBootstrap(): void {
    for (const network of unwatchedChains(this.config)) this.logger.warn(unwatched(network));
    this.jobs.every('settle-authorizations', this.config.resumeIntervalMs, () => this.run());
    this.jobs.every('renew-settlements', RENEW_INTERVAL_MS, () => this.renew());
  }

  /** @throws Refusal `not_payable`, `settlement_refused`, `settlement_unknown`. */
  async execute(input: Input, context: Context): Promise<Output> {
    const unused = input.units === undefined ? null : await this.endUnused(input, context);
    if (unused) return unused;
    const waiting = input.isResumed ? NOBODY : waitingUntil(context.deadlineAt);
    const begun = await this.intents.submit(input);
    if (begun) return this.inTime(waiting, this.finish(begun.authorization, context, waiting, begun.payment));
    const completed = await this.database.transaction((tx) => this.chargeSettled(tx, input, context));
    return {
      paymentId: completed.id,
      completedAt: completed.completed_at!.toISOString(),
      transfer: await this.transferOf(completed),
    };
  }

  /** A call that used nothing costs nothing, so that no signature is settled for it. @returns null for any other. */
  private endUnused(input: Input, context: Context): Promise<Output | null> {
    return this.database.transaction(async (tx) => {
      const payment = await this.reconcilePayment.lock(tx, input.paymentId);
      if (!hasEndedUnused(payment)) {
        if (payment.state !== 'verified' || !usedNothing(payment, input)) return null;
        await this.charge.endUnused(tx, payment, { input, context });
      }
      return { paymentId: payment.id, completedAt: payment.as_of.toISOString(), transfer: null };
    });
  }

  /** Continues settlements whose outcome is unknown and which no process continues. Several replicas share them. */
  async run(): Promise<void> {
    const rows = await this.database.query<AuthorizationRow>(takeAgain);
    await Promise.all(
      rows.map((row) =>
        (row.settlement ? this.finish(row, newRequestContext(), NOBODY) : this.settleFirst(row, null)).catch(
          (error: unknown) => {
            if (!(error instanceof Refusal))
              this.logger.warn(`authorization ${row.id} stays open: ${messageOf(error)}`);
          },
        ),
      ),
    );
  }

  /**
   * The transfer that completed a payment by authorization, with its signed receipt. Null if the books were altered,
   * because nothing is signed from altered books.
   */
  async transferOf(payment: PaymentRow): Promise<Output['transfer']> {
    if (payment.authorization_id === null || paysBySignature(payment)) return null;
    const [row] = await this.database.query<AuthorizationRow>(find, [payment.authorization_id]);
    const changed = await verifySale(this.database, payment.id);
    if (changed !== null) this.logger.error(`the transfer of payment ${payment.id} is not signed for: ${changed}`);
    return row && changed === null
      ? this.toTransfer(payment, row, payment.transaction_hash, payment.completed_at!)
      : null;
  }

  private toTransfer(
    payment: PaymentRow,
    { payer }: AuthorizationRow,
    transactionHash: string | null,
    completedAt: Date,
  ): NonNullable<Output['transfer']> {
    const transfer = { transaction: transactionHash ?? '', network: payment.network, payer };
    const amount = payment.usage ? { amount: payment.received_base_units } : {};
    return { ...transfer, ...amount, receipt: this.offerReceiptSigner.receipt(payment, transfer, completedAt) };
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
   * @param context of the request that waits for it; null for a job.
   * @throws Refusal `settlement_refused`, `settlement_unknown`.
   */
  settleFirst(row: AuthorizationRow, context: Context | null): Promise<Moved> {
    const waiting = context ? waitingUntil(context.deadlineAt) : NOBODY;
    return this.inTime(waiting, this.finishFirst(row, waiting, context ?? newRequestContext()));
  }

  private async finishFirst(row: AuthorizationRow, waiting: Waiting, context: Context): Promise<Moved> {
    const transactionHash = await this.learn(row, waiting);
    await this.database.transaction((tx) => this.recordFirst(tx, row, transactionHash, waiting, context));
    return { transaction: transactionHash ?? '', network: row.network, payer: row.payer };
  }

  private async recordFirst(
    tx: Tx,
    row: AuthorizationRow,
    transactionHash: string | null,
    waiting: Waiting,
    context: Context,
  ): Promise<void> {
    const payment = await this.reconcilePayment.lock(tx, row.payment_id);
    if (payment.state !== 'indeterminate') return;
    tx.send(
      settled,
      settledValues([{ payment, transactionHash, waiting, baseUnits: BigInt(payment.amount_base_units) }]),
    );
    if (payment.purpose === 'fee')
      await this.bookFees.execute(tx, { ...payment, transaction_hash: transactionHash }, payment.as_of, context);
    else await tx.query(paid, [payment.id, this.config.retryWindowSeconds]);
    if (isForSubscription(payment))
      await this.startSubscription.execute(tx, { ...payment, transaction_hash: transactionHash }, context);
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
    const baseUnits = BigInt(payment.amount_base_units);
    tx.send(settled, settledValues([{ payment, transactionHash, waiting: NOBODY, baseUnits }]));
    await tx.query(paid, [payment.id, this.config.retryWindowSeconds]);
  }

  /** @returns null for a payment that is not, or no longer, only signed. */
  private async begin(items: Input[]): Promise<(Begun | null)[]> {
    const rows = await this.database.query<PaymentRow & BegunColumns>(
      begin,
      begin.values({
        calls: items.map((input) => ({ payment_id: input.paymentId, settlement: JSON.stringify(input) })),
      }),
    );
    const begun = new Map(rows.map((row) => [row.id, row]));
    return items.map((settlement) => {
      const row = begun.get(settlement.paymentId);
      // If a payment occurs twice in a group, only the first request settles it.
      if (!row || !begun.delete(row.id)) return null;
      const { payer, nonce, valid_before, payload, facilitator, attempts, held_at, ...payment } = row;
      const held = { payer, nonce, valid_before, payload, facilitator, attempts, reason: null, created_at: held_at };
      const of = { id: row.authorization_id!, payment_id: row.id, network: row.network };
      const authorization = { ...held, ...of, state: 'settling' as const };
      return { payment, authorization: { ...authorization, settlement } };
    });
  }

  /**
   * Charges for a call whose authorization was settled before its seller was called.
   * @throws Refusal `not_payable`, `settlement_unknown`.
   */
  private async chargeSettled(tx: Tx, input: Input, context: Context): Promise<PaymentRow> {
    const payment = await this.reconcilePayment.lock(tx, input.paymentId);
    if (payment.state === 'completed') return payment;
    if (payment.state === 'indeterminate') throw unknown();
    if (payment.state !== 'verified' || payment.authorization_id === null)
      throw refuse(settlePayment, 'not_payable', {});
    if (paysBySignature(payment) || !isForCall(payment)) throw unknown();
    if (input.isResumed) tx.send(leaveUnanswered, [payment.id]);
    const [{ payer } = { payer: undefined }] = await tx.query<AuthorizationRow>(find, [payment.authorization_id]);
    await this.charge.execute(tx, [{ input, context, payment, payer }]);
    return { ...payment, completed_at: payment.as_of };
  }

  private async finish(row: AuthorizationRow, context: Context, waiting: Waiting, known?: PaymentRow): Promise<Output> {
    const transactionHash = await this.learn(row, waiting, known);
    const learned = { authorization: row, transactionHash, context, waiting };
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

  /**
   * Ends a settlement whose outcome neither a chain nor the facilitator tells, on an operator's word.
   * @returns why it cannot be ended so; null if it is ended.
   */
  async end(paymentId: string, says: { isPaid: boolean; reason: string }, by: Operator): Promise<string | null> {
    const { isPaid, reason } = says;
    return this.database.transaction(async (tx) => {
      const [payment] = await this.reconcilePayment.lockAll(tx, [paymentId]).then((found) => [...found.values()]);
      const [row] = await tx.query<AuthorizationRow>(find, [payment?.authorization_id]);
      if (payment?.state !== 'indeterminate' || !row)
        return 'no payment with this id has a signature whose outcome is open';
      if (isWatched(this.authorizations.read(payment, row.payload)))
        return `an RPC server of ${payment.network} is named, which tells the outcome`;
      if (!isPaid && row.valid_before > payment.as_of)
        return `the signature can still pay until ${row.valid_before.toISOString()}`;
      await recordOperatorAction(tx, { ...by, subject: paymentId, reason });
      if (!isPaid) {
        await tx.query(refused, [row.id, reason, row.attempts]);
        return null;
      }
      const context = newRequestContext();
      await tx.query(remember, [row.id, reason]);
      if (!row.settlement) await this.recordFirst(tx, row, null, NOBODY, context);
      else {
        const learned = { authorization: row, transactionHash: null, context, waiting: NOBODY };
        for (const completed of await this.completeAll(tx, [learned])) if (completed instanceof Error) throw completed;
      }
      return null;
    });
  }

  /** Records that the answer of a completed call is handed out, which nobody had waited for when it was charged. */
  async markAnswered({ id }: Pick<PaymentRow, 'id'>): Promise<void> {
    await this.database.query(answered, [id]);
  }

  /** Answers a request in time. The settlement continues without it. @throws Refusal `settlement_unknown`. */
  private inTime<T>(waiting: Waiting, settlement: Promise<T>): Promise<T> {
    if (waiting === NOBODY) return settlement;
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => waiting.isAnswered || reject(unknown()), waiting.until - Date.now()).unref();
    });
    settlement.catch((error: unknown) => {
      if (!(error instanceof Refusal)) this.logger.warn(`a settlement stays open: ${messageOf(error)}`);
    });
    return Promise.race([settlement, tooLate]).finally(() => clearTimeout(timer));
  }

  /**
   * The transaction that moved the money; null if it is not known by which. While somebody waits, an authorization
   * whose outcome is unknown is handed in again.
   * @throws Refusal `settlement_refused`, `settlement_unknown`.
   */
  private async learn(row: AuthorizationRow, waiting: Waiting, known?: PaymentRow): Promise<string | null> {
    const payment = known ?? (await this.database.query<PaymentRow>(payments, [row.payment_id]))[0];
    invariant(payment, `payment ${row.payment_id} exists`);
    try {
      for (let attempt: AuthorizationRow | undefined = row; attempt;) {
        this.underSettlement.set(attempt.id, attempt.attempts);
        const outcome: Settlement | null = await this.handIn.settle(attempt, payment);
        settlements.inc({
          rail: payment.rail,
          network: payment.network,
          outcome: outcome ? (outcome.settled ? 'settled' : 'refused') : 'unknown',
        });
        if (outcome?.settled) return outcome.transactionHash;
        const pause = pauseAfter(attempt);
        const isOver = Date.now() + pause >= waiting.until;
        if (outcome || isOver) await this.database.query(settleNextFirst, [attempt.id]);
        if (outcome) return await this.refuse(attempt, outcome);
        if (isOver) {
          await this.database.query(postpone, [attempt.id, attempt.attempts, pause]);
          break;
        }
        await delay(pause);
        [attempt] = await this.database.query<AuthorizationRow>(tryAgain, [attempt.id, attempt.attempts]);
      }
    } finally {
      this.underSettlement.delete(row.id);
    }
    throw unknown();
  }

  private async refuse({ id, attempts }: AuthorizationRow, { reason }: Refused): Promise<never> {
    if ((await this.database.query(refused, [id, reason, attempts])).length === 0) throw unknown();
    throw refuse(settlePayment, 'settlement_refused', { reason });
  }

  /** Charges for settlements that ended at about the same time, in one transaction. */
  private complete(items: Learned[]): Promise<(Completed | Error)[]> {
    return this.database.transaction((tx) => this.completeAll(tx, items));
  }

  private async completeAll(tx: Tx, items: Learned[]): Promise<(Completed | Error)[]> {
    const payments = await this.reconcilePayment.lockAll(
      tx,
      items.map(({ authorization }) => authorization.payment_id),
    );
    const settlements: Settled[] = [];
    const due: Due[] = [];
    const completed = items.map(({ authorization, transactionHash, context, waiting }): Completed | Error => {
      const { id, payment_id, settlement: input, payer } = authorization;
      const payment = payments.get(payment_id);
      if (payment?.state === 'completed') return { payment, completedAt: payment.completed_at! };
      if (payment?.state !== 'indeterminate' || payment.authorization_id !== id || !isForCall(payment) || !input)
        return new Error(`payment ${payment_id} does not wait for the settlement of authorization ${id}`);
      const baseUnits = movedBaseUnits(payment, schemeOf(authorization), input.units);
      settlements.push({ payment, transactionHash, waiting, baseUnits });
      const moved = { transaction_hash: transactionHash, received_base_units: String(baseUnits) };
      due.push({ input, context, payment: { ...payment, ...moved }, payer });
      // If a payment occurs twice in a group, the second item finds it completed.
      Object.assign(payment, { ...moved, state: 'completed', completed_at: payment.as_of });
      return { payment, completedAt: payment.as_of };
    });
    if (due.length === 0) return completed;
    tx.send(settled, settledValues(settlements));
    await this.charge.execute(tx, due);
    return completed;
  }
}

interface Settled extends Pick<Learned, 'transactionHash' | 'waiting'> {
  payment: PaymentRow;
  baseUnits: bigint;
}
type Refused = Extract<Settlement, { settled: false }>;

const settledValues = (settlements: Settled[]): unknown[] =>
  settled.values({
    settlements: settlements.map(({ payment, transactionHash, waiting, baseUnits }) => ({
      payment_id: payment.id,
      authorization_id: payment.authorization_id,
      transaction_hash: transactionHash,
      base_units: baseUnits,
      is_unanswered: isForCall(payment) && !isAnswered(waiting),
    })),
  });

/** Whether a request still waits for the answer, which it then gets. */
function isAnswered(waiting: Waiting): boolean {
  if (waiting.until > Date.now()) waiting.isAnswered = true;
  return waiting.isAnswered === true;
}

const pauseAfter = ({ attempts }: AuthorizationRow): number =>
  Math.min(FIRST_PAUSE_MS * 1.5 ** Math.min(attempts - 1, 20), MAX_PAUSE_MS);

const unknown = (): Refusal => refuse(settlePayment, 'settlement_unknown', { retry_after_seconds: RETRY_SECONDS });
