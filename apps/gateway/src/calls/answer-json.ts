import type { CallMoney } from '@market/contracts/payments-ledger';
import { centsNumber, feeRateNumber } from '@market/kernel';
import { isDefinite, isOwnFault, type SellerFailed } from '../egress/seller-outcome.js';

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

/** What happened, in words. What to do next is in `recovery`. */
const MESSAGES: Record<SellerFailed['reason'], string> = {
  unreachable: 'The seller could not be reached',
  timeout: 'The seller gave no complete answer in time',
  not_json: 'The seller answered with something that is not JSON',
  too_large: 'The seller answered with more than its listing allows',
  too_deep: 'The seller answered with JSON that is nested too deep',
  redirect: 'The seller answered with a redirect, which is not followed',
  seller_refused: 'The seller refused this request; its own answer says why',
  seller_error: 'The seller failed on this request',
  protocol_error: 'The seller answered with something that is not HTTP',
  forbidden_address: "The seller's address is none that the marketplace may call",
};

/** What was paid is owed back, and buys nothing any more. */
export const OWED_BACK = Symbol('owed back');

/**
 * A result that is not charged, with the next action.
 * @param payment the time until which the payment, if there is one, is valid for the same request.
 */
export function failedAnswer(
  requestId: string,
  outcome: SellerFailed,
  feeBps: number,
  payment?: string | typeof OWED_BACK,
): string {
  const retryUntil = payment === OWED_BACK ? undefined : payment;
  const recovery =
    isDefinite(outcome) || payment === OWED_BACK
      ? {
          next_action: isOwnFault(outcome)
            ? 'choose_another_listing'
            : isDefinite(outcome)
              ? 'fix_request'
              : 'request_new_payment_requirements',
          keep: [],
          drop: BOUND_TO_REQUEST,
          use_new_idempotency_key: true,
        }
      : {
          next_action: retryUntil ? 'retry_same_request' : 'retry_after_delay',
          keep: retryUntil ? ['X-Market-Relay-Request-Id', 'Idempotency-Key'] : [],
          drop: [],
        };
  const why = isOwnFault(outcome) ? 'The seller could not authenticate where it asks itself' : MESSAGES[outcome.reason];
  const extra = {
    error: { reason: outcome.reason, message: `${why}; nothing was charged for it` },
    recovery: { ...recovery, ...(retryUntil ? { retry_until: retryUntil } : {}) },
    ...(payment === OWED_BACK ? { refund: { status: 'refund_due' } } : {}),
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
