import { invariant, type FeeSplit, type Micros } from '@market/kernel';
import type { Payee } from '../rails/payment-rail.js';

type PostingType = 'direct_payment' | 'seller_credit' | 'marketplace_fee' | 'adjustment';

/**
 * An account is identified by its address. Its owner, if any, sees its postings in GET /ledger. A balance is credits −
 * debits.
 */
export interface Account {
  address: string;
  ownerId: string | null;
}

export const accounts = {
  /** What an agent paid sellers directly. */
  paymentsOf: (agentId: string): Account => ({ address: `agent:${agentId}:payments`, ownerId: agentId }),
  /** What the operator received for an agent and owes it, after fees, by `rail:network` where the operator holds it. */
  earningsOf: (agentId: string, place: string): Account => ({
    address: `agent:${agentId}:earnings:${place}`,
    ownerId: agentId,
  }),
  /** What an agent received at one of its own wallets (`network:address`) or through an external provider. */
  receivedOf: (agentId: string, place: string): Account => ({
    address: `agent:${agentId}:received:${place}`,
    ownerId: agentId,
  }),
  /** The fees that an agent owes for sales whose whole price it received. A debt is negative. */
  feesOf: (agentId: string): Account => ({ address: `agent:${agentId}:fees`, ownerId: agentId }),
  /** What an agent is owed for payments without delivery. */
  refundsOf: (agentId: string): Account => ({ address: `agent:${agentId}:refunds`, ownerId: agentId }),
  /** What an agent owes to buyers whose money it received and whose calls it did not deliver. A debt is negative. */
  owedBy: (agentId: string): Account => ({ address: `agent:${agentId}:owed`, ownerId: agentId }),
  platformFees: { address: 'platform:fees', ownerId: null } satisfies Account,
  /** Money that arrived on a rail and is not the price of a sale. */
  clearingOf: (rail: string): Account => ({ address: `rail:${rail}:clearing`, ownerId: null }),
};

export interface Posting {
  account: Account;
  type: PostingType;
  direction: 'debit' | 'credit';
  /** Always positive. */
  amountMicros: Micros;
}

/** The reasons of entries by which a seller earns. */
export const SALE_REASONS = ['call_completed', 'subscription_started'] as const;
type SaleReason = (typeof SALE_REASONS)[number];

/** The reason of the entry by which a seller pays fees. */
export const FEES_PAID = 'fees_paid';

/** The reason of the entry by which the operator pays a seller. */
export const PAID_OUT = 'paid_out';

/** The reason of an entry that records a debt to a buyer. */
export type RefundReason = 'not_delivered' | 'paid_late' | 'overpaid' | 'unused';

export const DEBTORS = ['seller', 'operator'] as const;
export type Debtor = (typeof DEBTORS)[number];
/** The reason of the entry by which a refund is paid. */
type RefundedReason = `${RefundReason}_refunded_by_${Debtor}`;

/**
 * One balanced change of the books. There is at most one for each payment and reason, and at most one for each payout.
 */
export interface JournalEntry {
  reason: SaleReason | RefundReason | RefundedReason | typeof FEES_PAID | typeof PAID_OUT;
  /** Null for a payout. */
  paymentId: string | null;
  payoutId?: string;
  postings: Posting[];
}

export const signed = ({ direction, amountMicros }: Posting): Micros =>
  direction === 'credit' ? amountMicros : -amountMicros;

export function assertBalanced(entry: JournalEntry): void {
  invariant(entry.postings.length >= 2, 'a journal entry has two postings or more');
  invariant(
    entry.postings.every(({ amountMicros }) => amountMicros > 0n),
    'every posting moves a positive amount',
  );
  invariant(entry.postings.reduce((sum, posting) => sum + signed(posting), 0n) === 0n, 'debits equal credits');
}

interface Sale {
  paymentId: string;
  buyerId: string;
  sellerId: string;
  money: FeeSplit;
  /** Who received the money, and where. */
  paid: { payee: Payee; place: string };
}

/** A delivered call. */
export const callCompleted = (call: Sale): JournalEntry => sold('call_completed', call);

/** A period of a subscription. */
export const subscriptionStarted = (subscription: Sale): JournalEntry => sold('subscription_started', subscription);

/**
 * The buyer pays gross; the seller is credited gross and bears the fee. The fee is deducted, or becomes a debt if the
 * seller received the whole price. A fee that rounds to zero is not posted.
 */
function sold(reason: SaleReason, { paymentId, buyerId, sellerId, money: { gross, fee }, paid }: Sale): JournalEntry {
  const credited =
    paid.payee === 'operator' ? accounts.earningsOf(sellerId, paid.place) : accounts.receivedOf(sellerId, paid.place);
  const bearsFee = paid.payee === 'seller' ? accounts.feesOf(sellerId) : credited;
  const feePostings: Posting[] = [
    { account: bearsFee, type: 'marketplace_fee', direction: 'debit', amountMicros: fee },
    { account: accounts.platformFees, type: 'marketplace_fee', direction: 'credit', amountMicros: fee },
  ];
  return {
    reason,
    paymentId,
    postings: [
      { account: accounts.paymentsOf(buyerId), type: 'direct_payment', direction: 'debit', amountMicros: gross },
      { account: credited, type: 'seller_credit', direction: 'credit', amountMicros: gross },
      ...(fee > 0n ? feePostings : []),
    ],
  };
}

/** A seller's payment of fees to the operator. */
export const feesPaid = (payment: {
  paymentId: string;
  sellerId: string;
  rail: string;
  amountMicros: Micros;
}): JournalEntry => ({
  reason: FEES_PAID,
  paymentId: payment.paymentId,
  postings: [
    {
      account: accounts.clearingOf(payment.rail),
      type: 'marketplace_fee',
      direction: 'debit',
      amountMicros: payment.amountMicros,
    },
    {
      account: accounts.feesOf(payment.sellerId),
      type: 'marketplace_fee',
      direction: 'credit',
      amountMicros: payment.amountMicros,
    },
  ],
});

/** The operator's payment to a seller's wallet. If the transfer exceeds what was due, the balance becomes negative. */
export const paidOut = (payout: {
  payoutId: string;
  sellerId: string;
  rail: string;
  network: string;
  wallet: string;
  amountMicros: Micros;
}): JournalEntry => ({
  reason: PAID_OUT,
  paymentId: null,
  payoutId: payout.payoutId,
  postings: [
    {
      account: accounts.earningsOf(payout.sellerId, `${payout.rail}:${payout.network}`),
      type: 'adjustment',
      direction: 'debit',
      amountMicros: payout.amountMicros,
    },
    {
      account: accounts.receivedOf(payout.sellerId, `${payout.network}:${payout.wallet}`),
      type: 'adjustment',
      direction: 'credit',
      amountMicros: payout.amountMicros,
    },
  ],
});

/**
 * Records that money which paid for no sale is owed to the buyer. The part that the operator holds is debited to the
 * clearing account of the rail; the part that the seller holds becomes the seller's debt.
 */
export function refundDue(refund: {
  paymentId: string;
  buyerId: string;
  sellerId: string;
  rail: string;
  amountMicros: Micros;
  /** The part of the amount that the seller holds. */
  sellersMicros: Micros;
  reason: RefundReason;
}): JournalEntry {
  const { amountMicros, sellersMicros, reason } = refund;
  const debts: [Account, Micros][] = [
    [accounts.clearingOf(refund.rail), amountMicros - sellersMicros],
    [accounts.owedBy(refund.sellerId), sellersMicros],
  ];
  return {
    reason,
    paymentId: refund.paymentId,
    postings: [
      ...debts.flatMap(([account, part]): Posting[] =>
        part > 0n ? [{ account, type: 'adjustment', direction: 'debit', amountMicros: part }] : [],
      ),
      { account: accounts.refundsOf(refund.buyerId), type: 'adjustment', direction: 'credit', amountMicros },
    ],
  };
}

/** Records that a refund was paid: it ends the debt of the debtor and the claim of the buyer. */
export function refunded(refund: {
  paymentId: string;
  buyerId: string;
  sellerId: string;
  rail: string;
  amountMicros: Micros;
  reason: RefundReason;
  owedBy: Debtor;
}): JournalEntry {
  const { amountMicros, owedBy } = refund;
  const debt = owedBy === 'seller' ? accounts.owedBy(refund.sellerId) : accounts.clearingOf(refund.rail);
  return {
    reason: `${refund.reason}_refunded_by_${owedBy}`,
    paymentId: refund.paymentId,
    postings: [
      { account: accounts.refundsOf(refund.buyerId), type: 'adjustment', direction: 'debit', amountMicros },
      { account: debt, type: 'adjustment', direction: 'credit', amountMicros },
    ],
  };
}
