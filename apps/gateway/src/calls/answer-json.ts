import type { CallMoney } from '@market/contracts/payments-ledger';
import { centsNumber, feeRateNumber } from '@market/kernel';
import type { SellerOutcome } from '../egress/seller-outcome.js';

export const NO_MONEY: CallMoney = { grossMicros: '0', feeMicros: '0', netMicros: '0', feeBps: 0 };

/**
 * The gateway result (`data` of the 200) as JSON text. The seller's JSON is spliced in as it came: parsing and writing
 * it again could change its numbers.
 */
export function billableAnswer(requestId: string, money: CallMoney, statusCode: number, sellerJson: string): string {
  return resultJson({ requestId, billable: true, money, statusCode, sellerJson });
}

/** A result that costs nothing, and says what to do next. */
export function failedAnswer(requestId: string, outcome: SellerOutcome, feeBps: number, retry: { sameRelayRequestId: boolean; retryUntil?: string }): string {
  const extra = {
    error: { reason: outcome.kind === 'failed' ? outcome.reason : 'seller_error' },
    recovery: {
      next_action: retry.sameRelayRequestId ? 'retry_same_request' : 'retry_after_delay',
      keep: retry.sameRelayRequestId ? ['X-Market-Relay-Request-Id', 'Idempotency-Key'] : [],
      drop: [],
      ...(retry.retryUntil ? { retry_until: retry.retryUntil } : {}),
    },
  };
  return resultJson({ requestId, billable: false, money: { ...NO_MONEY, feeBps }, statusCode: outcome.statusCode, sellerJson: outcome.json ?? 'null', extra });
}

interface Result {
  requestId: string;
  billable: boolean;
  money: CallMoney;
  statusCode: number;
  sellerJson: string;
  extra?: object;
}

function resultJson({ requestId, billable, money, statusCode, sellerJson, extra }: Result): string {
  const head = {
    request_id: requestId,
    billable,
    charged_amount: { amount_cents: centsNumber(BigInt(money.grossMicros)), currency: 'USD' },
    fees: {
      fee_rate: feeRateNumber(money.feeBps),
      fee_amount_cents: centsNumber(BigInt(money.feeMicros)),
      seller_receives_cents: centsNumber(BigInt(money.netMicros)),
    },
    seller_status_code: statusCode,
    ...extra,
  };
  return `${JSON.stringify(head).slice(0, -1)},"seller_response":${sellerJson}}`;
}
