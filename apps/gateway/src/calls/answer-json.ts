import type { CallMoney } from '@market/contracts/payments-ledger';
import { centsNumber, feeRateNumber } from '@market/kernel';
import { isDefinite, type SellerFailed } from '../egress/seller-outcome.js';

export const NO_MONEY: CallMoney = { grossMicros: '0', feeMicros: '0', netMicros: '0', feeBps: 0 };

/**
 * The gateway result (`data` of the 200) as JSON text. The seller's JSON is inserted unchanged, because parsing and
 * serializing it could change its numbers.
 */
export function billableAnswer(requestId: string, money: CallMoney, statusCode: number, sellerJson: string): string {
  return resultJson({ requestId, billable: true, money, statusCode, sellerJson });
}

/** The headers that bind a request to its payment and its key. A changed request must not send them. */
const BOUND_TO_REQUEST = [
  'X-Market-Relay-Request-Id',
  'X-Market-Payment-Scheme',
  'X-Market-Payment-Network',
  'PAYMENT-SIGNATURE',
  'Idempotency-Key',
];

/**
 * A result that is not charged, with the next action. `retryUntil` is the time until which the payment, if there is
 * one, is valid for the same request.
 */
export function failedAnswer(requestId: string, outcome: SellerFailed, feeBps: number, retryUntil?: string): string {
  const recovery = isDefinite(outcome)
    ? { next_action: 'fix_request', keep: [], drop: BOUND_TO_REQUEST, use_new_idempotency_key: true }
    : {
        next_action: retryUntil ? 'retry_same_request' : 'retry_after_delay',
        keep: retryUntil ? ['X-Market-Relay-Request-Id', 'Idempotency-Key'] : [],
        drop: [],
      };
  const extra = {
    error: { reason: outcome.reason },
    recovery: { ...recovery, ...(retryUntil ? { retry_until: retryUntil } : {}) },
  };
  return resultJson({
    requestId,
    billable: false,
    money: { ...NO_MONEY, feeBps },
    statusCode: outcome.statusCode,
    sellerJson: outcome.json ?? 'null',
    extra,
  });
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
