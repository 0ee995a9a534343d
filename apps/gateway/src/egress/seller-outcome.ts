export type SellerFailureReason =
  | 'unreachable'
  | 'timeout'
  | 'not_json'
  | 'too_large'
  | 'too_deep'
  | 'redirect'
  /** Any 4xx: the seller refused this request. The body does not matter. */
  | 'seller_refused'
  /** 5xx with JSON. */
  | 'seller_error'
  | 'protocol_error'
  | 'forbidden_address';

/** JSON with a 2xx status, the only answer that a call is charged for. */
export interface SellerAnswered {
  kind: 'answered';
  statusCode: number;
  /** The text of the answer, unchanged. */
  json: string;
  latencyMs: number;
}

export interface SellerFailed {
  kind: 'failed';
  reason: SellerFailureReason;
  /** 504 for a timeout; otherwise the seller's status if it is no success, else 502. */
  statusCode: number;
  /**
   * `none`: no connection was made. `answered`: a complete answer below 500 was received, so the seller works.
   * `broken`: anything else.
   */
  contact: 'none' | 'broken' | 'answered';
  /** The JSON of an answer with another status than 2xx. */
  json: string | null;
  latencyMs: number;
}

export type SellerOutcome = SellerAnswered | SellerFailed;

/** These statuses (timeout, too early, too many requests) depend on the time of the request. */
const LATER = [408, 425, 429];

/** Of an API that the seller calls itself: the buyer's key is never forwarded, so its request can mend none of these. */
const OWN_CREDENTIALS = [401, 407];

/** Whether the seller was refused by a party behind it, for credentials of its own. */
export const isOwnFault = ({ reason, statusCode }: SellerFailed): boolean =>
  reason === 'seller_refused' && OWN_CREDENTIALS.includes(statusCode);

/** Whether the seller would refuse the same request again. */
export const isDefinite = ({ reason, statusCode }: SellerFailed): boolean =>
  reason === 'seller_refused' && !LATER.includes(statusCode);
