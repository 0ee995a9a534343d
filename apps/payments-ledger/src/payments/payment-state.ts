/**
 * The states of a payment and every move between them. The prepared statements of this
 * folder name the states they start from; this table is what they are tested against.
 */
export const PAYMENT_STATES = [
  'pending',
  'underpaid',
  'verified',
  'in_flight',
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
  /** Straight to refund_due where a part payment is first seen after the offer's time. */
  pending: ['underpaid', 'verified', 'expired', 'failed', 'cancelled', 'indeterminate', 'refund_due'],
  underpaid: ['verified', 'refund_due'],
  /** A call is claimed first; a subscription starts at once. A signed authorization that ran out unused is cancelled: nothing was paid. One is settled before the call where its payer had no money for the last. */
  verified: ['in_flight', 'completed', 'refund_due', 'cancelled', 'indeterminate'],
  /** A signed authorization is handed in before it is charged for: until its rail has answered the outcome is unknown. */
  in_flight: ['completed', 'verified', 'in_flight', 'indeterminate'],
  completed: [],
  /** Money that arrives late is owed back. */
  expired: ['refund_due'],
  failed: ['refund_due'],
  cancelled: ['refund_due'],
  refund_due: ['refunded'],
  refunded: [],
  /** A rail's answer is unknown; only its reconciler decides. */
  indeterminate: ['verified', 'failed', 'expired', 'completed', 'pending'],
};

/** An offer in one of these is the only one of its buyer, listing, thing and route; the index `payments_live_offer` holds them to it. */
export const LIVE_STATES = [
  'pending',
  'underpaid',
  'verified',
  'in_flight',
  'indeterminate',
] as const satisfies readonly PaymentState[];

/** An offer in one of these is over and brought nothing, as far as is known. */
export const UNPAID_STATES: readonly PaymentState[] = ['expired', 'failed', 'cancelled'];

export const isLive = (state: PaymentState): boolean => (LIVE_STATES as readonly PaymentState[]).includes(state);

export const mayMove = (from: PaymentState, to: PaymentState): boolean => TRANSITIONS[from].includes(to);

/** Also to an expired offer money may have come: then it is owed back. */
export const mayGetMoney = (state: PaymentState): boolean =>
  state === 'pending' || state === 'underpaid' || state === 'indeterminate' || state === 'expired';

/** What a rail knows of the money for one offer. */
export interface Observation {
  /** Final on the rail. */
  receivedBaseUnits: bigint;
  /** More is on its way and not final yet; an offer does not expire meanwhile. */
  arriving: boolean;
  transactionHash: string | null;
  failed?: boolean;
  /** Nothing can come any more. */
  isClosed?: boolean;
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
  const to = (state: PaymentState): Verdict => ({ state, surplusBaseUnits: 0n });
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
