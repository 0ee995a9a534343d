import type { StoredContent } from '@market/contracts/gateway';
import { INCLUDED, type CallMoney } from '@market/contracts/payments-ledger';
import { centsNumber, feeRateNumber, splitFee, usedMicros } from '@market/kernel';
import { isDefinite, isOwnFault, type SellerFailed } from '../egress/seller-outcome.js';

/** Whether a call is paid for by itself, so that it may be owed back. */
export const isCharged = (payment: { provider: string } | null): boolean =>
  payment !== null && payment.provider !== INCLUDED;

export const NO_MONEY: CallMoney = { grossMicros: '0', feeMicros: '0', netMicros: '0', feeBps: 0 };

/**
 * The gateway result (`data` of the 200) as JSON text. The seller's JSON is inserted unchanged, because parsing and
 * serializing it could change its numbers.
 */
export function billableAnswer(
  requestId: string,
  money: CallMoney,
  statusCode: number,
  sellerJson: string,
  units: number | null = null,
): string {
  const extra = money.usage && units !== null ? { usage: { unit: money.usage.unit, units } } : {};
  return resultJson({ requestId, billable: true, money, statusCode, sellerJson, extra });
}

/** What a call costs that used so many units, of which its money says the most. The ledger charges the same. */
export function moneyOfUse(money: CallMoney, units: number | null): CallMoney {
  if (!money.usage || units === null) return money;
  const { gross, fee, net } = splitFee(usedMicros(money.usage, units, BigInt(money.grossMicros)), money.feeBps);
  return { ...money, grossMicros: String(gross), feeMicros: String(fee), netMicros: String(net) };
}

/**
 * The JSON of an answer that is a file or a stream, without what depends on its reader.
 * @param stream how many events a stream had, and how it ended.
 */
export const jsonOfContent = (
  { contentType, size, sha256 }: StoredContent,
  stream?: { events: number; outcome: 'completed' | 'broken' },
): string => JSON.stringify({ content_type: contentType, size, sha256, ...stream });

const SELLER_RESPONSE = ',"seller_response":';

/** The seller's JSON in a billable result. What comes before it is the marketplace's own. */
export const sellerJsonOf = (answer: string): string =>
  answer.slice(answer.indexOf(SELLER_RESPONSE) + SELLER_RESPONSE.length, -1);

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
  broken_stream: "The seller's stream broke off, or is none",
  job_failed: 'The seller could not do what it had taken on; its own answer says why',
  deadline: 'The seller did not deliver before the deadline of its listing',
  foreign_status_url: 'The seller names another server than its own to ask for the outcome',
  units_missing: 'The call costs what it uses, and the seller did not say how much that is',
  forbidden_address: "The seller's address is none that the marketplace may call",
};

/** What was paid is owed back, and buys nothing any more. */
export const OWED_BACK = Symbol('owed back');
/** The call is over, and another one would have to be made. */
export const OVER = Symbol('over');

/**
 * A result that is not charged, with the next action.
 * @param payment the time until which the payment, if there is one, is valid for the same request.
 */
export function failedAnswer(
  requestId: string,
  outcome: SellerFailed,
  feeBps: number,
  payment?: string | typeof OWED_BACK | typeof OVER,
): string {
  const retryUntil = typeof payment === 'symbol' ? undefined : payment;
  const recovery =
    isDefinite(outcome) || typeof payment === 'symbol'
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
  return `${JSON.stringify(head).slice(0, -1)}${SELLER_RESPONSE}${sellerJson}}`;
}
