import { claimPayment } from '@market/contracts/payments-ledger';
import type { InputOf } from '@market/contracts';
import { invariant } from '@market/kernel';
import { refuse, type RequestContext } from '@market/messaging';
import { Database, sql, type Tx } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { Budgets } from '../budgets/budgets.js';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { Authorizations, type ExactTerms, type PayerKey } from './authorizations.js';
import { ReconcilePayment } from './reconcile-payment.js';
import { isForCall, paymentColumns, paysBySignature, type CallPaymentRow, type PaymentRow } from './payment.js';
import { SettleAuthorization, type AuthorizationRow } from './settle-authorization.js';

const findPayer = sql('payers.find', 'SELECT network, asset, payer FROM authorizations WHERE id = $1');
const findSettled = sql(
  'payers.settled',
  'SELECT settled_base_units FROM payers WHERE network = $1 AND asset = $2 AND payer = $3',
);
/** Inserts the payer if it is new, and serializes concurrent claims of one payer. */
const lockPayer = sql(
  'payers.lock',
  `INSERT INTO payers (network, asset, payer) VALUES ($1, $2, $3)
   ON CONFLICT (network, asset, payer) DO UPDATE SET payer = excluded.payer RETURNING settles_first_since, settled_base_units`,
);
/** The number and the sum of a payer's calls in progress that signatures pay and that are not settled yet. */
const unsettled = sql(
  'authorizations.unsettled',
  `SELECT count(*)::int AS count, coalesce(sum(p.amount_base_units), 0) AS base_units
   FROM authorizations a JOIN payments p ON p.id = a.payment_id AND p.authorization_id = a.id
   WHERE a.network = $1 AND a.asset = $2 AND a.payer = $3 AND a.state IN ('held', 'settling')
     AND p.state IN ('in_flight', 'indeterminate')`,
);
const claim = sql(
  'payments.claim-signed',
  `UPDATE payments p SET state = 'in_flight', fence = p.fence + 1, holder_id = $2, claimed_at = now(),
     lease_until = now() + $3 * interval '1 millisecond'
   WHERE id = $1 RETURNING ${paymentColumns('p')}`,
);

interface PayerRow {
  settles_first_since: Date | null;
  settled_base_units: string;
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
type Attempt = { claimed: CallPaymentRow | null } | { rejected: string } | { toSettle: AuthorizationRow };
type Claim = Pick<InputOf<typeof claimPayment>, 'leaseMs' | 'holderId'>;
/** Why a payment that is only signed cannot be claimed directly. */
type Obstacle = 'too_many_unsettled' | 'settled_first' | 'insufficient_funds';

/**
 * Claims a payment that is only signed. A signature moves no money until the answer is stored, and a wallet can sign
 * for more than it holds. The unsettled calls of a payer are therefore bounded: in sum if the balance of the wallet is
 * known, in number if it is not. After a settlement of a payer has failed, its payments are settled before the seller
 * is called, until one succeeds; so is a payment whose signature may end before the seller has to answer.
 */
@Injectable()
export class ClaimSignedPayment {
  constructor(
    private readonly database: Database,
    private readonly reconcilePayment: ReconcilePayment,
    private readonly authorizations: Authorizations,
    private readonly settleAuthorization: SettleAuthorization,
    private readonly budgets: Budgets,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  /**
   * @returns null if the payment cannot be claimed or was paid meanwhile; the caller reads it again.
   * @throws Refusal `too_many_unsettled`, or the refusal of the settlement if the payment is settled first.
   */
  async execute(
    payment: PaymentRow,
    input: InputOf<typeof claimPayment>,
    context: RequestContext,
  ): Promise<{ claimed: CallPaymentRow | null } | { rejected: string }> {
    const [payer] = await this.database.query<PayerKey>(findPayer, [payment.authorization_id]);
    invariant(payer, `the authorization of payment ${payment.id} exists`);
    const funds = await this.fundsOf(payer, this.authorizations.termsOf(payment));
    const attempt = await this.database.transaction((tx) => this.attempt(tx, payment, input, funds, context));
    if (!('toSettle' in attempt)) return attempt;
    await this.settleAuthorization.settleFirst(attempt.toSettle);
    return { claimed: null };
  }

  /**
   * Reads the settled sum before the balance, so that a settlement in between makes the funds smaller and not larger.
   */
  async fundsOf(payer: PayerKey, terms: ExactTerms | null): Promise<Funds> {
    const [known] = await this.database.query<Pick<PayerRow, 'settled_base_units'>>(findSettled, valuesOf(payer));
    const balance = terms && (await this.authorizations.balanceOf(payer.payer, terms));
    return { payer, balance, settledBaseUnits: BigInt(known?.settled_base_units ?? 0) };
  }

  /**
   * Claims a payment in the transaction that held its authorization.
   * @returns null if a budget or an obstacle has to be checked first, or nobody waits for the claim any more; the
   * authorization is then held, and `execute` claims.
   */
  async claimHeld(
    tx: Tx,
    payment: PaymentRow,
    claim: Claim,
    funds: Funds,
    { principal, deadlineAt }: RequestContext,
  ): Promise<CallPaymentRow | null> {
    if (principal?.budgets ?? payment.budgets) return null;
    if (Math.min(payment.retry_until!.getTime(), deadlineAt) <= Date.now()) return null;
    return (await this.obstacleTo(tx, payment, claim, funds)) === undefined ? this.write(tx, payment, claim) : null;
  }

  private async attempt(
    tx: Tx,
    { id, authorization_id: authorizationId }: PaymentRow,
    claim: Claim,
    funds: Funds,
    context: RequestContext,
  ): Promise<Attempt> {
    const payment = await this.reconcilePayment.lock(tx, id);
    if (payment.state !== 'verified' || !paysBySignature(payment) || payment.retry_until! <= payment.as_of)
      return { claimed: null };
    // Another wallet's authorization is held meanwhile, whose funds were not read.
    if (payment.authorization_id !== authorizationId) return { claimed: null };
    const obstacle = await this.obstacleTo(tx, payment, claim, funds);
    const limit = this.config.unsettledPerPayer;
    if (obstacle === 'too_many_unsettled')
      throw refuse(claimPayment, 'too_many_unsettled', { limit, retry_after_seconds: 1 });
    if (obstacle === 'insufficient_funds') return { rejected: obstacle };
    await this.budgets.reserve(tx, payment, context);
    return obstacle === 'settled_first'
      ? { toSettle: await this.settleAuthorization.beginFirst(tx, payment) }
      : { claimed: await this.write(tx, payment, claim) };
  }

  private async obstacleTo(
    tx: Tx,
    payment: PaymentRow,
    { leaseMs }: Claim,
    { payer: key, balance, settledBaseUnits }: Funds,
  ): Promise<Obstacle | undefined> {
    // Both queries share one round trip and run in this order: calls are counted when the payer is locked.
    const [[payer], [others]] = await Promise.all([
      tx.query<PayerRow>(lockPayer, valuesOf(key)),
      tx.query<{ count: number; base_units: string }>(unsettled, valuesOf(key)),
    ]);
    if (balance === null && others!.count >= this.config.unsettledPerPayer) return 'too_many_unsettled';
    // Right after a start the limit is unknown, until the facilitator has named its fee payer.
    const { maxTimeoutSeconds = Infinity } = this.authorizations.requirementsOf(payment) ?? {};
    if (payer!.settles_first_since !== null || leaseMs > maxTimeoutSeconds * 1_000) return 'settled_first';
    const spent = BigInt(others!.base_units) + BigInt(payer!.settled_base_units) - settledBaseUnits;
    return balance !== null && spent + BigInt(payment.amount_base_units) > balance ? 'insufficient_funds' : undefined;
  }

  private async write(tx: Tx, { id }: PaymentRow, { holderId, leaseMs }: Claim): Promise<CallPaymentRow> {
    const [claimed] = await tx.query<PaymentRow>(claim, [id, holderId, leaseMs]);
    invariant(claimed && isForCall(claimed), 'signatures pay calls alone');
    return claimed;
  }
}

const valuesOf = ({ network, asset, payer }: PayerKey): string[] => [network, asset, payer];
