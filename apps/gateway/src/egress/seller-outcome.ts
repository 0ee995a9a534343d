import type { StoredContent } from '@market/contracts/gateway';

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
  /** A stream without an event, of something that is not its format, or one that breaks off. */
  | 'broken_stream'
  /** The seller took the call as a job, and said later that it cannot deliver. */
  | 'job_failed'
  /** The seller took the call as a job, and did not deliver in time. */
  | 'deadline'
  /** A job that is to be looked for at another server than the seller's. */
  | 'foreign_status_url'
  /** The call costs what it uses, and the answer does not say how much that is. */
  | 'units_missing'
  | 'forbidden_address';

/** JSON, or a file or a stream that the listing names, with a 2xx status: the only answers that a call is charged for. */
export type SellerAnswered = {
  kind: 'answered';
  statusCode: number;
  latencyMs: number;
  /** What it says that the call used, by header; for a stream, what its last event says. */
  units?: number | undefined;
} & (
  | {
      /** The text of the answer, unchanged. */
      json: string;
      content?: undefined;
    }
  | { json: null; content: StoredContent }
);

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

/** The seller works on the call, and delivers later. */
export interface SellerAccepted {
  kind: 'accepted';
  statusCode: number;
  /** What it said of the job, if that is JSON. */
  json: string | null;
  /** In seconds. */
  retryAfter: number | undefined;
  latencyMs: number;
}

export type SellerOutcome = SellerAnswered | SellerFailed;
export type SellerReply = SellerOutcome | SellerAccepted;

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
