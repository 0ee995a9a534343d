import { authorizePayment } from '@market/contracts/payments-ledger';
import type { InputOf } from '@market/contracts';
import { invariant } from '@market/kernel';
import { refuse, type RequestContext } from '@market/messaging';
import { Database, GroupLookup, lookupSql, sql, withParameters, type Tx } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { Budgets } from '../budgets/budgets.js';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { Authorizations, type Examined, type ExactTerms, type PayerKey } from './authorizations.js';
import { ReconcilePayment } from './reconcile-payment.js';
import { isForCall, paymentColumns, paysBySignature, type CallPaymentRow, type PaymentRow } from './payment.js';
import type { AuthorizationRow } from './authorization-rows.js';
import { SettleAuthorization } from './settle-authorization.js';

const findPayer = sql('payers.find', 'SELECT network, asset, payer FROM authorizations WHERE id = $1');
/** The key of a look-up is `keyText` of a payer. */
const findSettled = sql(
  'payers.settled',
  lookupSql(
    `SELECT settled_base_units FROM payers WHERE network = split_part(asked.key, ' ', 1)
       AND asset = split_part(asked.key, ' ', 2) AND payer = split_part(asked.key, ' ', 3)`,
  ),
);
const PAYERS = 'network text, asset text, payer text';
/**
 * Inserts payers that are new, and serializes concurrent authorizations of one payer. Payers are locked in the order of their
 * keys, so that two groups do not deadlock.
 */
const lockPayers = withParameters({ payers: PAYERS }, ({ payers }) =>
  sql(
    'payers.lock',
    `INSERT INTO payers (${payers.columns}) SELECT * FROM ${payers.table} ORDER BY ${payers.columns}
     ON CONFLICT (network, asset, payer) DO UPDATE SET payer = excluded.payer
     RETURNING ${payers.columns}, settles_first_since, settled_base_units`,
  ),
);
/** The number and the sum of a payer's calls in progress that signatures pay and that are not settled yet. */
const unsettled = withParameters({ payers: PAYERS }, ({ payers }) =>
  sql(
    'authorizations.unsettled',
    `SELECT ${payers.columns}, count, base_units FROM ${payers.table} CROSS JOIN LATERAL (
       SELECT count(*)::int AS count, coalesce(sum(p.amount_base_units), 0) AS base_units
       FROM authorizations a JOIN payments p ON p.id = a.payment_id AND p.authorization_id = a.id
       WHERE a.network = payers.network AND a.asset = payers.asset AND a.payer = payers.payer
         AND ((a.state = 'held' AND p.in_use_until > now()) OR a.state = 'settling')
     ) calls`,
  ),
);
const use = sql(
  'payments.use-signature',
  `UPDATE payments p SET in_use_until = now() + $2 * interval '1 millisecond'
   WHERE id = $1 RETURNING ${paymentColumns('p')}`,
);

/** A signature that was held in this time is used by the call that it was held for. */
const HOLD_MS = 5_000;

interface PayerRow extends PayerKey {
  settles_first_since: Date | null;
  settled_base_units: string;
}
interface UnsettledRow extends PayerKey {
  count: number;
  base_units: string;
}
/**
 * The balance of a payer's wallet, and the sum of its authorizations that had been settled by then. The balance is null
 * if it is not known.
 */
export interface Funds {
  payer: PayerKey;
  balance: bigint | null;
  settledBaseUnits: bigint;
}
type Attempt = { authorized: CallPaymentRow | null } | { rejected: string } | { toSettle: AuthorizationRow };
/** A payer that is locked, with its calls in progress that are not settled yet. */
interface LockedPayer extends PayerRow {
  calls: { count: number; baseUnits: bigint };
}
/** Locked payers by `keyText`. */
type LockedPayers = Map<string, LockedPayer>;
/** A call whose authorization is to be held. */
export interface SignedCall {
  payment: Pick<PaymentRow, 'id' | 'amount_base_units' | 'budgets'>;
  examined: Omit<Examined, 'exact'>;
  funds: Funds;
  context: RequestContext;
}
/** Why a payment that is only signed does not pay for a call directly. */
type Obstacle = 'too_many_unsettled' | 'settled_first' | 'insufficient_funds';

/**
 * Authorizes a call that is only signed for. A signature moves no money until the answer is stored, and a wallet can sign
 * for more than it holds. The unsettled calls of a payer are therefore bounded: in sum if the balance of the wallet is
 * known, in number if it is not. After a settlement of a payer has failed, its payments are settled before the seller
 * is called, until one succeeds; so is a payment whose signature may end before the seller has to answer.
 */
@Injectable()
export class AuthorizeSignedPayment {
  private readonly settledSums: GroupLookup<Pick<PayerRow, 'settled_base_units'>>;

  constructor(
    private readonly database: Database,
    private readonly reconcilePayment: ReconcilePayment,
    private readonly authorizations: Authorizations,
    private readonly settleAuthorization: SettleAuthorization,
    private readonly budgets: Budgets,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {
    this.settledSums = new GroupLookup(database, findSettled);
  }

  /**
   * @returns null if the payment pays for no call or was paid meanwhile; the caller reads it again.
   * @throws Refusal `too_many_unsettled`, or the refusal of the settlement if the payment is settled first.
   */
  async execute(
    payment: PaymentRow,
    input: InputOf<typeof authorizePayment>,
    context: RequestContext,
  ): Promise<{ authorized: CallPaymentRow | null } | { rejected: string }> {
    const [payer] = await this.database.query<PayerKey>(findPayer, [payment.authorization_id]);
    invariant(payer, `the authorization of payment ${payment.id} exists`);
    const funds = await this.fundsOf(payer, this.authorizations.termsOf(payment));
    const attempt = await this.database.transaction((tx) => this.attempt(tx, payment, input.callMs, funds, context));
    if (!('toSettle' in attempt)) return attempt;
    await this.settleAuthorization.settleFirst(attempt.toSettle, context);
    return { authorized: null };
  }

  /**
   * Reads the settled sum before the balance, so that a settlement in between makes the funds smaller and not larger.
   */
  async fundsOf(payer: PayerKey, terms: ExactTerms | null): Promise<Funds> {
    const [known] = await this.settledSums.find(keyText(payer));
    const balance = terms && (await this.authorizations.balanceOf(payer.payer, terms));
    return { payer, balance, settledBaseUnits: BigInt(known?.settled_base_units ?? 0) };
  }

  /** Locks payers, so that what stands against their calls can be decided in this transaction. */
  async lockPayers(tx: Tx, keys: PayerKey[]): Promise<LockedPayers> {
    const payers = [...new Map(keys.map((key) => [keyText(key), key])).values()];
    // Both queries share one round trip and run in this order: calls are counted when the payers are locked.
    const [locked, counted] = await Promise.all([
      tx.query<PayerRow>(lockPayers, lockPayers.values({ payers })),
      tx.query<UnsettledRow>(unsettled, unsettled.values({ payers })),
    ]);
    const calls = new Map(counted.map((row) => [keyText(row), row]));
    return new Map(
      locked.map((row) => {
        const { count, base_units } = calls.get(keyText(row))!;
        return [keyText(row), { ...row, calls: { count, baseUnits: BigInt(base_units) } }];
      }),
    );
  }

  /**
   * Whether a signature may pay for its call at once, in the transaction that holds it. If something has to be decided
   * first, a budget or an obstacle, or if nobody waits for the call any more, it is only held, and `execute` decides.
   * A signature that is used counts against the later ones of this transaction.
   */
  mayBeUsed(call: SignedCall, payers: LockedPayers): boolean {
    if (!isAwaited(call)) return false;
    const { payment, funds, examined } = call;
    const { calls } = payers.get(keyText(funds.payer))!;
    const { callMs, requirements } = examined;
    if (this.obstacleTo(payment, callMs, requirements.maxTimeoutSeconds, funds, payers) !== undefined) return false;
    calls.count += 1;
    calls.baseUnits += BigInt(payment.amount_base_units);
    return true;
  }

  private async attempt(
    tx: Tx,
    { id, authorization_id: authorizationId }: PaymentRow,
    callMs: number,
    funds: Funds,
    context: RequestContext,
  ): Promise<Attempt> {
    const payment = await this.reconcilePayment.lock(tx, id);
    if (payment.state !== 'verified' || !paysBySignature(payment) || payment.retry_until! <= payment.as_of)
      return { authorized: null };
    // Another wallet's authorization is held meanwhile, whose funds were not read.
    if (payment.authorization_id !== authorizationId) return { authorized: null };
    const { maxTimeoutSeconds } = this.authorizations.requirementsOf(payment) ?? {};
    const payers = await this.lockPayers(tx, [funds.payer]);
    // An earlier attempt at this call counts no more.
    if (payment.in_use_until && payment.in_use_until > payment.as_of) {
      const { calls } = payers.get(keyText(funds.payer))!;
      calls.count -= 1;
      calls.baseUnits -= BigInt(payment.amount_base_units);
    }
    const obstacle = this.obstacleTo(payment, callMs, maxTimeoutSeconds, funds, payers);
    const limit = this.config.unsettledPerPayer;
    if (obstacle === 'too_many_unsettled')
      throw refuse(authorizePayment, 'too_many_unsettled', { limit, retry_after_seconds: 1 });
    if (obstacle === 'insufficient_funds') return { rejected: obstacle };
    await this.budgets.reserve(tx, payment, context);
    return obstacle === 'settled_first'
      ? { toSettle: await this.settleAuthorization.beginFirst(tx, payment) }
      : { authorized: await this.use(tx, payment, callMs) };
  }

  /** @param maxTimeoutSeconds for how long the signature can be settled; undefined if it is not known. */
  private obstacleTo(
    { amount_base_units }: Pick<PaymentRow, 'amount_base_units'>,
    callMs: number,
    maxTimeoutSeconds: number | undefined,
    { payer: key, balance, settledBaseUnits }: Funds,
    payers: LockedPayers,
  ): Obstacle | undefined {
    const payer = payers.get(keyText(key))!;
    if (balance === null && payer.calls.count >= this.config.unsettledPerPayer) return 'too_many_unsettled';
    // Right after a start the limit is unknown, until the facilitator has named its fee payer.
    if (payer.settles_first_since !== null || callMs > (maxTimeoutSeconds ?? Infinity) * 1_000) return 'settled_first';
    const spent = payer.calls.baseUnits + BigInt(payer.settled_base_units) - settledBaseUnits;
    return balance !== null && spent + BigInt(amount_base_units) > balance ? 'insufficient_funds' : undefined;
  }

  private async use(tx: Tx, { id }: PaymentRow, callMs: number): Promise<CallPaymentRow> {
    const [used] = await tx.query<PaymentRow>(use, [id, callMs]);
    invariant(used && isForCall(used), 'signatures pay calls alone');
    return used;
  }
}

/** Whether the signature of a payment counts against the funds of its payer for as long as a call may take. */
export const isInUse = ({ in_use_until }: PaymentRow, at: Date, callMs: number): boolean =>
  in_use_until !== null && in_use_until.getTime() - at.getTime() > callMs - HOLD_MS;

/** How long the payment can be used is known only afterwards, so it is computed as the statement does. */
function isAwaited({ payment, examined, context: { principal, deadlineAt } }: SignedCall): boolean {
  const retryUntil = Number(examined.authorization.validBefore) * 1_000 - examined.callMs;
  return !(principal?.budgets ?? payment.budgets) && Math.min(retryUntil, deadlineAt) > Date.now();
}

/** None of the parts contains a space. */
const keyText = ({ network, asset, payer }: PayerKey): string => `${network} ${asset} ${payer}`;
