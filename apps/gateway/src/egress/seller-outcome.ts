export type SellerFailureReason =
  | 'unreachable'
  | 'timeout'
  | 'not_json'
  | 'too_large'
  | 'too_deep'
  | 'redirect'
  | 'protocol_error'
  | 'forbidden_address';

/** The seller gave well-formed JSON, with whatever status but a redirect. */
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
  /** What JSON came with a redirect. */
  json: string | null;
  latencyMs: number;
}

export type SellerOutcome = SellerAnswered | SellerFailed;

/** Whether the buyer got what a call is paid for: JSON with a status of 2xx or 4xx. */
export function isBillable(outcome: SellerOutcome): outcome is SellerAnswered {
  if (outcome.kind === 'failed') return false;
  const { statusCode } = outcome;
  return (statusCode >= 200 && statusCode < 300) || (statusCode >= 400 && statusCode < 500);
}
