import type { RefundView } from '@market/contracts/payments-ledger';
import type { Debtor, RefundReason } from '../journal/posting.js';
import { toUsdAmount } from '../fees/usd-amount.js';

/** A row of `refunds` as pg returns it. */
export interface RefundRow {
  id: string;
  payment_id: string;
  reason: RefundReason;
  owed_by: Debtor;
  buyer_id: string;
  seller_id: string;
  amount_micros: string;
  network: string;
  wallet: string | null;
  due_since: Date;
  payable_since: Date | null;
  transaction_hash: string | null;
  log_index: number | null;
  refunded_at: Date | null;
}

export const refundColumns = `x.id, x.payment_id, x.reason, x.owed_by, x.buyer_id, x.seller_id, x.amount_micros,
  x.network, x.wallet, x.due_since, x.payable_since, x.transaction_hash, x.log_index, x.refunded_at`;

/** A refund with the sale that its payment was for. */
export interface ShownRefundRow extends RefundRow {
  gateway_request_id: string | null;
  listing_id: string;
  listing_name: string;
  listing_slug: string;
}

/** The transfer of USDC that pays a refund. */
export interface WantedTransfer {
  transaction: string;
  /** Any address if undefined. */
  from?: string;
  to: string;
  /** In micros, which are the base units of USDC. */
  atLeast: bigint;
  since: Date;
}

const DAY_MS = 86_400_000;

export const toRefundView = (row: ShownRefundRow, viewerId: string, graceDays: number): RefundView => ({
  id: row.id,
  payment_id: row.payment_id,
  gateway_request_id: row.gateway_request_id,
  role: row.buyer_id === viewerId ? 'buyer' : 'seller',
  status: row.refunded_at ? 'refunded' : 'refund_due',
  reason: row.reason,
  owed_by: row.owed_by,
  amount: toUsdAmount(BigInt(row.amount_micros)),
  listing: { id: row.listing_id, name: row.listing_name, slug: row.listing_slug },
  network: row.network,
  wallet: row.wallet,
  transaction_hash: row.transaction_hash,
  due_since: row.due_since.toISOString(),
  pay_by:
    row.owed_by === 'seller' && row.payable_since && !row.refunded_at
      ? new Date(row.payable_since.getTime() + graceDays * DAY_MS).toISOString()
      : null,
  refunded_at: row.refunded_at?.toISOString() ?? null,
});
