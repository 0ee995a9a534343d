import type { PaymentCurrency } from './catalog.js';
import type { ListingRef, PageQuery, Recovery } from './envelope.js';

/** What to pay for one call: `data.payment` of a 402. */
export interface PaymentOffer {
  payment_id?: string;
  relay_request_id: string;
  status?: string;
  requirements: {
    /** Null, or absent without a key, where a signature alone pays: nothing is to be transferred. */
    depositAddress?: string | null;
    /** Decimal string in whole units of the currency. */
    amount: string;
    /** The same amount as an integer in the currency's smallest unit. */
    amount_base_units?: string;
    currency: PaymentCurrency;
    network?: string;
    relayRequestId: string;
    expiresAt: string;
  };
  provider?: string;
  /** USD; `gross_amount` is the price of the call. */
  fees?: Fees;
  /** Headers the paid repeat carries. */
  retry_headers?: Record<string, string>;
  /** What an x402 client signs, as in the header `PAYMENT-REQUIRED`; null where the route takes no signature. */
  x402?: X402PaymentRequired | null;
}

/** `PaymentRequired` of x402 version 2. Source: specs/x402-specification-v2.md of github.com/coinbase/x402. */
export interface X402PaymentRequired {
  x402Version: 2;
  error?: string;
  resource?: { url: string; description?: string; mimeType?: string };
  accepts: X402Requirements[];
}

/** One way to pay: `PaymentRequirements` of x402 version 2. */
export interface X402Requirements {
  scheme: string;
  /** CAIP-2. */
  network: string;
  /** Base units of the asset, as decimal text. */
  amount: string;
  /** The token's contract or mint. */
  asset: string;
  payTo: string;
  maxTimeoutSeconds: number;
  extra?: Record<string, unknown>;
}

/** How a signed payment was settled: the decoded header `PAYMENT-RESPONSE`. */
export interface X402Settlement {
  success: boolean;
  /** Its hash on `network`; empty where nothing was settled. */
  transaction: string;
  network: string;
  payer?: string;
  errorReason?: string;
}

/** A currency on a chain that payments can take. */
export interface PaymentRoute {
  provider: string;
  currency: PaymentCurrency;
  /** CAIP-2. */
  network: string;
  /** The reference of `network` alone. */
  chain_id: string;
  decimals: number;
  schemes: ('deposit' | 'exact')[];
  /** USD. */
  minimum_usd: number;
  /** USD of one whole unit; null where it is known of an offer alone. */
  unit_price_usd: number | null;
  /** Sent with a call, they choose this route. */
  headers: Record<string, string>;
}

export interface Fees {
  gross_amount: number;
  fee_rate: number;
  fee_amount: number;
  provider_receives: number;
}

export interface ChargedAmount {
  /** Up to four decimals. */
  amount_cents: number;
  currency: string;
}

export interface CentFees {
  fee_rate: number;
  fee_amount_cents: number;
  seller_receives_cents: number;
}

export interface GatewayResult<T = unknown> {
  request_id: string;
  /** False: the seller refused (3xx, 4xx) or failed, and nobody was charged. */
  billable: boolean;
  charged_amount: ChargedAmount;
  fees: CentFees;
  seller_status_code: number;
  seller_response: T;
  /** With `billable: false`: why, and whether the same request may be repeated on the same payment (`retry_…`) or another one is needed (`fix_request`). */
  error?: { reason: string };
  recovery?: Recovery;
}

export interface PendingCall {
  status: 'pending';
  relay_request_id: string | null;
  retry_after_seconds: number;
  /** What is waited for. */
  reason: PendingReason | 'call_in_progress';
}

/** No payment was seen yet, one that is not final, its rail does not answer, or what became of a signature is not known. */
export type PendingReason = 'payment_not_seen' | 'payment_not_final' | 'payment_unknown' | 'settlement_unknown';

export type GatewayRequestStatus =
  | 'payment_required'
  | 'payment_pending'
  | 'forwarding'
  | 'succeeded'
  | 'seller_failed'
  | 'seller_refused'
  | 'refunded'
  | 'expired';

export interface GatewayRequest {
  id: string;
  request_id: string;
  listing: ListingRef;
  role: 'buyer' | 'seller';
  buyer: Party;
  seller: Party;
  status: GatewayRequestStatus;
  billable: boolean | null;
  charged_amount: ChargedAmount;
  fees: CentFees;
  /** Null where the call cost nothing. */
  payment: {
    provider: string;
    scheme: string;
    network: string;
    /** Null where it was sold: the payment is the buyer's. */
    relay_request_id: string | null;
    /** Null where it was sold and not charged for. */
    transaction_hash: string | null;
  } | null;
  seller_status_code: number | null;
  latency_ms: number | null;
  error_code: string | null;
  /** SHA-256 in hex. */
  /** Null where it was sold and not forwarded. */
  request_digest: string | null;
  /** Null where there is no answer, or it was bought and is not settled. */
  response_digest: string | null;
  created_at: string;
  completed_at: string | null;
}

export interface Party {
  id: string;
  display_name: string;
}

export interface GatewayRequestQuery extends PageQuery {
  role?: 'buyer' | 'seller' | 'all';
  status?: GatewayRequestStatus;
  listing_id?: string;
  /** ISO 8601. */
  from?: string;
  to?: string;
}

export type LedgerEntryType = 'direct_payment' | 'seller_credit' | 'marketplace_fee' | 'adjustment';

export interface LedgerEntry {
  id: string;
  transaction_id: string;
  type: LedgerEntryType;
  account: string;
  direction: 'debit' | 'credit';
  amount_cents: number;
  currency: string;
  balance_after_cents: number;
  listing: ListingRef | null;
  reference: { payment_id: string | null; gateway_request_id: string | null; receipt_id: string | null };
  transaction_hash: string | null;
  created_at: string;
}

export interface LedgerQuery extends PageQuery {
  type?: LedgerEntryType;
  direction?: 'debit' | 'credit';
  listing_id?: string;
  /** ISO 8601. */
  from?: string;
  to?: string;
}

export interface Receipt {
  id: string;
  payment_id: string;
  recipient_type: 'buyer' | 'seller';
  /** Amounts in USD. */
  gross_amount: number;
  fee_rate: number;
  fee_amount: number;
  net_amount: number;
  currency: string;
  transaction_hash: string;
  listing: ListingRef;
  created_at: string;
}

export interface ReceiptDetail extends Receipt {
  relay_request_id: string;
  payer: Party & { avatar_url: string | null };
  seller: Party & { avatar_url: string | null };
}

export interface ReceiptProof {
  /** Compact JWS (EdDSA, typ `receipt+jwt`) over the claims. */
  jws: string;
  claims: Record<string, unknown>;
}

export interface ReceiptQuery extends PageQuery {
  role?: 'buyer' | 'seller';
}

export type SandboxOutcome = 'paid' | 'pending' | 'underpaid' | 'overpaid' | 'late' | 'failed';

export interface SandboxPayment {
  payment_id: string;
  relay_request_id: string;
  status: string;
  outcome: SandboxOutcome;
  /** Decimal string in whole units of the currency. */
  received_amount: string;
  currency: PaymentCurrency;
  transaction_hash: string;
}
