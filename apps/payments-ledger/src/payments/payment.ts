import type { CallMoney, PaymentOffer } from '@market/contracts/payments-ledger';
import { feeRateNumber, formatDecimal, usdNumber } from '@market/kernel';
import type { Currency } from '@market/contracts';
import type { PaymentState } from './payment-state.js';

/** A row of `payments` as pg reads it: bigint and numeric come as text. */
export interface PaymentRow {
  id: string;
  relay_request_id: string;
  gateway_request_id: string;
  state: PaymentState;
  buyer_id: string;
  seller_id: string;
  listing_id: string;
  listing_name: string;
  listing_slug: string;
  preferred_currency: Currency;
  body_digest: Buffer;
  rail: string;
  scheme: string;
  network: string;
  currency: Currency;
  decimals: number;
  deposit_address: string;
  gross_micros: string;
  fee_micros: string;
  net_micros: string;
  fee_bps: number;
  amount_base_units: string;
  received_base_units: string;
  transaction_hash: string | null;
  fence: number;
  lease_until: Date | null;
  expires_at: Date;
  retry_until: Date | null;
  completed_at: Date | null;
}

export const PAYMENT_COLUMNS = [
  'id',
  'relay_request_id',
  'gateway_request_id',
  'state',
  'buyer_id',
  'seller_id',
  'listing_id',
  'listing_name',
  'listing_slug',
  'preferred_currency',
  'body_digest',
  'rail',
  'scheme',
  'network',
  'currency',
  'decimals',
  'deposit_address',
  'gross_micros',
  'fee_micros',
  'net_micros',
  'fee_bps',
  'amount_base_units',
  'received_base_units',
  'transaction_hash',
  'fence',
  'lease_until',
  'expires_at',
  'retry_until',
  'completed_at',
];

export const paymentColumns = (alias: string): string => PAYMENT_COLUMNS.map((column) => `${alias}.${column}`).join(', ');

/** A payment as its buyer is asked for it. */
export function toOffer(row: PaymentRow): PaymentOffer {
  return {
    payment_id: row.id,
    relay_request_id: row.relay_request_id,
    status: row.state,
    provider: row.rail,
    requirements: {
      depositAddress: row.deposit_address,
      amount: formatDecimal(BigInt(row.amount_base_units), row.decimals),
      amount_base_units: row.amount_base_units,
      currency: row.currency,
      network: row.network,
      relayRequestId: row.relay_request_id,
      expiresAt: row.expires_at.toISOString(),
    },
    fees: {
      gross_amount: usdNumber(BigInt(row.gross_micros)),
      fee_rate: feeRateNumber(row.fee_bps),
      fee_amount: usdNumber(BigInt(row.fee_micros)),
      provider_receives: usdNumber(BigInt(row.net_micros)),
    },
    retry_headers: {
      'X-Market-Relay-Request-Id': row.relay_request_id,
      'X-Market-Payment-Scheme': row.scheme,
      'X-Market-Payment-Network': row.network,
    },
  };
}

/** The money of the call, as contracts carry it. */
export const moneyOf = (row: PaymentRow): CallMoney => ({ grossMicros: row.gross_micros, feeMicros: row.fee_micros, netMicros: row.net_micros, feeBps: row.fee_bps });

/** What part of the price an amount on the rail is worth, in micros, rounded down. */
export function worthMicros(row: PaymentRow, baseUnits: bigint): bigint {
  return (baseUnits * BigInt(row.gross_micros)) / BigInt(row.amount_base_units);
}
