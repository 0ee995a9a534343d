/**
 * The states of a payment and every move between them (design of the paid call). The prepared statements of this
 * folder name the states they start from; this table is what they are tested against.
 */
export const PAYMENT_STATES = ['pending', 'underpaid', 'verified', 'in_flight', 'completed', 'expired', 'failed', 'cancelled', 'refund_due', 'refunded', 'indeterminate'] as const;
export type PaymentState = (typeof PAYMENT_STATES)[number];

export const TRANSITIONS: Record<PaymentState, readonly PaymentState[]> = {
  pending: ['underpaid', 'verified', 'expired', 'failed', 'cancelled', 'indeterminate'],
  underpaid: ['verified', 'refund_due'],
  verified: ['in_flight', 'refund_due'],
  in_flight: ['completed', 'verified', 'in_flight'],
  completed: [],
  /** Money that arrives late is owed back. */
  expired: ['refund_due'],
  failed: [],
  cancelled: [],
  refund_due: ['refunded'],
  refunded: [],
  /** A rail's answer is unknown; only its reconciler decides. */
  indeterminate: ['verified', 'failed', 'expired'],
};

export const mayMove = (from: PaymentState, to: PaymentState): boolean => TRANSITIONS[from].includes(to);

/** What a rail knows of the money for one offer. */
export interface Observation {
  receivedBaseUnits: bigint;
  transactionHash: string | null;
  failed?: boolean;
}

export interface ObservedOffer {
  state: PaymentState;
  amountBaseUnits: bigint;
  expired: boolean;
}

export interface Verdict {
  state: PaymentState;
  /** Base units beyond what was asked for. */
  surplusBaseUnits: bigint;
}

/** Where an observation moves a payment; the same state when it tells nothing new. */
export function judge(offer: ObservedOffer, observation: Observation): Verdict {
  const stay: Verdict = { state: offer.state, surplusBaseUnits: 0n };
  if (offer.state !== 'pending' && offer.state !== 'underpaid' && offer.state !== 'indeterminate') return stay;
  if (observation.failed) return offer.state === 'underpaid' ? stay : { ...stay, state: 'failed' };
  if (observation.receivedBaseUnits >= offer.amountBaseUnits) return { state: 'verified', surplusBaseUnits: observation.receivedBaseUnits - offer.amountBaseUnits };
  if (observation.receivedBaseUnits > 0n) return { ...stay, state: offer.expired ? 'refund_due' : 'underpaid' };
  if (offer.expired && offer.state === 'pending') return { ...stay, state: 'expired' };
  return stay;
}
