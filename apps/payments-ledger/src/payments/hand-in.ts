import type { Database } from '@market/persistence';
import { Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { isBeforeSending, isNonceUsed, UncertainSettlementError, type Settlement } from '../rails/x402/facilitator.js';
import { give, remember, schemeOf, toHeld, type AuthorizationRow } from './authorization-rows.js';
import type { Authorizations, SignedPayment } from './authorizations.js';
import { messageOf } from './message-of.js';
import { feeOf, movedBaseUnits, type PaymentRow } from './payment.js';

/** A facilitator that has not answered for this long is not waited for if the chain shows the settlement. */
const WATCH_AFTER_MS = 2_000;
const WATCH_INTERVAL_MS = 1_000;

/** Hands an authorization in to its facilitator, and finds out from it and from the chain what became of it. */
export class HandIn {
  private readonly logger = new Logger('SettleAuthorization');

  constructor(
    private readonly database: Database,
    private readonly authorizations: Authorizations,
  ) {}

  /** @returns null while the outcome is unknown. */
  async settle(row: AuthorizationRow, payment: PaymentRow): Promise<Settlement | null> {
    const asked = this.authorizations.read(payment, row.payload);
    const signed = atUse(asked, row, payment);
    if (row.valid_before.getTime() <= Date.now()) return this.lookUp(row, signed);
    let isAnswered = false;
    const answer = this.handIn(row, payment, signed, asked).finally(() => (isAnswered = true));
    const shown = this.watch(row, signed, () => isAnswered);
    return (await Promise.race([answer, shown])) ?? answer;
  }

  /** The settlement as the chain shows it while the facilitator does not answer. */
  private async watch(row: AuthorizationRow, signed: SignedPayment, isOver: () => boolean): Promise<Settlement | null> {
    for (let pause = WATCH_AFTER_MS; ; pause = WATCH_INTERVAL_MS) {
      await delay(pause, undefined, { ref: false });
      if (isOver()) return null;
      if (!(await isUsed(row, signed).catch(() => false))) continue;
      const outcome = await this.lookUp(row, signed);
      if (outcome?.settled) return outcome;
    }
  }

  /** @param asked what was signed, which is the most that `upto` moves. */
  private async handIn(
    row: AuthorizationRow,
    payment: PaymentRow,
    signed: SignedPayment,
    asked: SignedPayment,
  ): Promise<Settlement | null> {
    const { exact, payload, requirements } = signed;
    try {
      const outcome = await exact.facilitators.settle(payload, requirements, {
        feeMicros: feeOf(payment),
        holder: row.facilitator,
        wasHandedIn: row.attempts > 1,
        give: (facilitator) => this.give(row, facilitator),
        isUnused: async () => isWatched(signed) && !(await isUsed(row, signed)),
      });
      if (outcome.settled && (await isConfirmed(outcome.transactionHash!, row, signed))) return outcome;
      if (outcome.settled)
        this.logger.error(`the facilitator of payment ${payment.id} names a transaction that did not pay it`);
      else {
        const believed = await this.believe(row, outcome, asked, feeOf(payment));
        if (believed) return believed;
        await this.database.query(remember, [row.id, outcome.reason]);
      }
    } catch (error) {
      this.logger.warn(`the facilitator of payment ${payment.id} leaves it open: ${messageOf(error)}`);
      if (error instanceof UncertainSettlementError) {
        await this.database.query(remember, [row.id, error.reason]);
        if (isNonceUsed(error.reason) && wasHandedInBefore(row) && !isWatched(signed))
          return { settled: true, transactionHash: null };
      }
    }
    return this.lookUp(row, signed);
  }

  /** @throws Error if a later attempt has begun, which decides from now on. */
  private async give({ id, attempts }: AuthorizationRow, facilitator: string | null): Promise<void> {
    const given = await this.database.query(give, [id, attempts, facilitator]);
    if (given.length === 0) throw new Error('a later attempt hands it in');
  }

  /**
   * What a refusal proves; null if nothing. At the first attempt no earlier submission can be in flight, except one
   * that a restore from a backup has undone. A facilitator that refuses may have sent the transfer all the same, which
   * the chain then shows only later. So either the wallet holds too little, as the chain says, or `verify` has to say
   * that the authorization can pay nothing now. If it says that the authorization was used, it was this attempt that
   * used it.
   */
  private async believe(
    row: AuthorizationRow,
    refusal: Settlement,
    signed: SignedPayment,
    feeMicros: bigint,
  ): Promise<Settlement | null> {
    if (row.attempts > 1) return null;
    if (isWatched(signed)) {
      // The balance is read first, because a transfer that happens in between makes it too small.
      const balance = await this.authorizations.balanceOf(row.payer, signed);
      if (await isUsed(row, signed)) return null;
      if (balance !== null && balance < BigInt(signed.requirements.amount)) return refusal;
    }
    const verified = await this.authorizations.verify(signed, feeMicros);
    if (verified.valid) return null;
    if (isNonceUsed(verified.reason)) return isWatched(signed) ? null : { settled: true, transactionHash: null };
    // A simulation also fails where the authorization was used, which only a chain that is watched rules out.
    const isCertain = isWatched(signed) || !/simulation/.test(verified.reason);
    return isCertain && isBeforeSending(verified.reason) ? refusal : null;
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
}

/** The payment with the amount that is to move: of a call that costs what it uses, by `upto`, what it used. */
export function atUse(
  signed: SignedPayment,
  { settlement, payload }: AuthorizationRow,
  payment: PaymentRow,
): SignedPayment {
  const amount = movedBaseUnits(payment, schemeOf({ payload }), settlement?.units);
  return { ...signed, requirements: { ...signed.requirements, amount: String(amount) } };
}

/** Whether an earlier attempt may have moved the money; not if the first answer said already that it was used. */
const wasHandedInBefore = ({ attempts, facilitator, reason }: AuthorizationRow): boolean =>
  attempts > 1 && facilitator !== null && !(reason !== null && isNonceUsed(reason));

/** Whether a server of the chain can say what became of an authorization. */
export const isWatched = ({ exact, requirements }: SignedPayment): boolean =>
  exact.witness.isWatched?.(requirements) ?? true;

export const isUsed = async (row: AuthorizationRow, { exact, requirements }: SignedPayment): Promise<boolean> =>
  (await exact.witness.isUsed?.(toHeld(row), requirements)) ?? false;

/** Whether the chain confirms the settlement; true if the chain cannot be asked. */
const isConfirmed = (
  transactionHash: string,
  row: AuthorizationRow,
  { exact, requirements }: SignedPayment,
): Promise<boolean> => exact.witness.isSettledBy?.(transactionHash, toHeld(row), requirements) ?? Promise.resolve(true);
