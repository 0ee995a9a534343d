import type { DeliveryType, PricingModel } from './catalog.js';
import type { ListingRef, PageQuery } from './envelope.js';
import type { Fees, Party, PaymentOffer, PendingReason, X402Requirements } from './payments.js';

export type SubscriptionStatus = 'active' | 'cancelled' | 'expired';

export interface Subscription {
  id: string;
  consumer_id: string;
  listing_id: string;
  status: SubscriptionStatus;
  pricing_model: PricingModel;
  /** USD a period. */
  pricing_amount: number;
  /** Null where nothing ends it. */
  current_period_end: string | null;
  created_at: string;
}

export interface ListedSubscription extends Subscription {
  /** `delivery_type` is null once the listing is gone. */
  listing: ListingRef & { delivery_type: DeliveryType | null; provider: Party };
}

export interface SubscriptionDetail extends ListedSubscription {
  listing: ListedSubscription['listing'] & {
    connection_instructions: string | null;
    auth_method: string | null;
    demo_endpoint: string | null;
  };
}

export interface SubscriptionQuery extends PageQuery {
  status?: SubscriptionStatus | 'all';
}

/** A requirement of x402 version 2, with the id of the payment that it opens. */
export interface X402Requirement extends X402Requirements {
  extra: { relayRequestId: string };
}

/** What to pay for a period of a subscription. */
export interface SubscriptionOffer {
  payment_id: string;
  /** `verified` once it is paid: then verifying it is all that is left. */
  status: string;
  requirements: PaymentOffer['requirements'];
  fees: Fees;
  provider: string;
  x402: { x402Version: 2; resource: { url: string }; accepts: X402Requirement[] };
}

export interface PaymentProof {
  payment_id: string;
  relay_request_id?: string;
  /** A PaymentPayload of x402, as an object or as its JSON in base64. */
  payload?: object | string;
  scheme?: string;
  network?: string;
  transactionHash?: string;
}

export interface PaymentPending {
  status: 'pending';
  payment_id: string;
  relay_request_id: string;
  retry_after_seconds: number;
  reason: PendingReason;
}

export interface VerifiedPayment {
  subscription: Subscription;
  payment: {
    payment_id: string;
    status: 'completed';
    transaction_hash: string;
    requirements: PaymentOffer['requirements'];
    fees: Fees;
    completed_at: string;
  };
}

export interface Payment {
  payment_id: string;
  status: string;
  purpose: 'call' | 'subscription';
  transaction_hash: string | null;
  requirements: PaymentOffer['requirements'];
  fees: Fees;
  listing: ListingRef;
  /** Decimal string in whole units of the currency. */
  received_amount: string;
  /** USD. */
  refund_due_amount: number;
  created_at: string;
  completed_at: string | null;
}

export interface CancelledSubscription {
  id: string;
  status: 'cancelled';
}
