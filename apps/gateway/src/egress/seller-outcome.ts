export type SellerFailureReason =
  | 'unreachable'
  | 'timeout'
  | 'not_json'
  | 'too_large'
  | 'too_deep'
  | 'redirect'
  /** Any 4xx, whatever its body: the seller did not take this request. */
  | 'seller_refused'
  /** 5xx with JSON. */
  | 'seller_error'
  | 'protocol_error'
  | 'forbidden_address';

/** JSON with a 2xx status: what a call is paid for, and nothing else is. */
export interface SellerAnswered {
  kind: 'answered';
  statusCode: number;
  /** The answer's own text, unchanged. */
  json: string;
  latencyMs: number;
}

export interface SellerFailed {
  kind: 'failed';
  reason: SellerFailureReason;
  /** 504 for a timeout; the seller's own where that is itself no success; else 502. */
  statusCode: number;
  /** `none`: not even a connection came about. `answered`: a whole answer below 500 came, which shows that the seller is there. */
  contact: 'none' | 'broken' | 'answered';
  /** What JSON came with another status than 2xx. */
  json: string | null;
  latencyMs: number;
}

export type SellerOutcome = SellerAnswered | SellerFailed;

/** Timeout, too early and too many requests depend on the time, not on the request. */
const LATER = [408, 425, 429];

/** Whether the same request will be refused again: another one is needed. */
export const isDefinite = ({ reason, statusCode }: SellerFailed): boolean =>
  reason === 'seller_refused' && !LATER.includes(statusCode);
