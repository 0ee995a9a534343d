/**
 * The states of a payment and all transitions between them. The prepared statements of this folder name the states from
 * which they start; the tests compare them with this table.
 */
export const PAYMENT_STATES = [
  'pending',
  'underpaid',
  'verified',
  'completed',
  'expired',
  'failed',
  'cancelled',
  'refund_due',
  'refunded',
  'indeterminate',
] as const;
export type PaymentState = (typeof PAYMENT_STATES)[number];

export const TRANSITIONS: Record<PaymentState, readonly PaymentState[]> = {
  /** Moves to refund_due directly when a partial payment is first seen after the offer has expired. */
  pending: ['underpaid', 'verified', 'expired', 'failed', 'cancelled', 'indeterminate', 'refund_due'],
  underpaid: ['verified', 'refund_due'],
  /**
   * An authorization that expired unused is cancelled, because nothing was paid. A signed authorization is submitted to
   * its facilitator before the charge is recorded, or, if the payer could not cover an earlier one, before the call.
   * Until the facilitator answers, the outcome is unknown.
   */
  verified: ['completed', 'refund_due', 'cancelled', 'indeterminate'],
  completed: [],
  /** Money that arrives late is refunded. */
  expired: ['refund_due'],
  failed: ['refund_due'],
  cancelled: ['refund_due'],
  refund_due: ['refunded'],
  refunded: [],
  /** The rail's answer is unknown; only reconciliation ends this state. */
  indeterminate: ['verified', 'failed', 'expired', 'completed', 'pending'],
};

/**
 * At most one offer for each buyer, listing, purchasable and route is in one of these states.
 */
export const LIVE_STATES = [
  'pending',
  'underpaid',
  'verified',
  'indeterminate',
] as const satisfies readonly PaymentState[];

/** Final states of an offer for which no payment is known. */
export const UNPAID_STATES: readonly PaymentState[] = ['expired', 'failed', 'cancelled'];

export const isLive = (state: PaymentState): boolean => (LIVE_STATES as readonly PaymentState[]).includes(state);

export const mayMove = (from: PaymentState, to: PaymentState): boolean => TRANSITIONS[from].includes(to);

/** Money may also arrive for an expired offer. It is then refunded. */
export const mayGetMoney = (state: PaymentState): boolean =>
  state === 'pending' || state === 'underpaid' || state === 'indeterminate' || state === 'expired';

/** What a rail reports about the money for one offer. */
export interface Observation {
  /** The amount that is final on the rail. */
  receivedBaseUnits: bigint;
  /** A transfer was seen and is not final yet. The offer does not expire until it is final. */
  arriving: boolean;
  transactionHash: string | null;
  failed?: boolean;
  /** No more money can arrive. */
  isClosed?: boolean;
}

export interface ObservedOffer {
  state: PaymentState;
  amountBaseUnits: bigint;
  expired: boolean;
}

export interface Transition {
  state: PaymentState;
  /** The base units received beyond the price. */
  surplusBaseUnits: bigint;
}

/**
 * Returns the state to which an observation moves a payment. It is the current state if the observation changes
 * nothing.
 */
export function nextState(offer: ObservedOffer, observation: Observation): Transition {
  const to = (state: PaymentState): Transition => ({ state, surplusBaseUnits: 0n });
  const { receivedBaseUnits: received, arriving } = observation;
  if (UNPAID_STATES.includes(offer.state)) return to(received > 0n ? 'refund_due' : offer.state);
  if (offer.state !== 'pending' && offer.state !== 'underpaid' && offer.state !== 'indeterminate')
    return to(offer.state);
  if (received >= offer.amountBaseUnits)
    return { state: 'verified', surplusBaseUnits: received - offer.amountBaseUnits };
  const failed = observation.failed === true && received === 0n && !arriving;
  if (offer.state === 'indeterminate') return to(failed ? 'failed' : 'indeterminate');
  const ended = offer.expired && !arriving;
  if (received > 0n) return to(ended ? 'refund_due' : 'underpaid');
  if (offer.state === 'underpaid') return to('underpaid');
  if (failed) return to('failed');
  return to(ended ? 'expired' : 'pending');
}
