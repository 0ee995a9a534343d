export interface Pagination {
  page: number;
  limit: number;
  total: number;
  totalPages: number;
  /** There only where `total`, and with it `totalPages`, is an estimate. */
  total_is_estimate?: true;
}

export interface Page<T> {
  data: T[];
  pagination: Pagination;
}

export interface PageQuery {
  page?: number;
  limit?: number;
}

export type NextAction =
  | 'pay_and_retry'
  | 'retry_after_delay'
  | 'retry_same_request'
  | 'retry_with_solana_payment_route'
  | 'choose_another_payment_route'
  | 'use_new_idempotency_key'
  | 'request_new_payment_requirements'
  | 'fix_request'
  | 'authenticate'
  | 'register'
  | 'solve_proof_of_work'
  | 'request_new_challenge'
  | 'recover_key'
  | 'create_key_with_scope'
  | 'link_wallet'
  | 'choose_another_listing'
  | 'contact_seller'
  | 'contact_operator'
  | 'use_direct_gateway'
  | 'do_not_retry';

/** What the service says to do next. */
export interface Recovery {
  next_action: NextAction;
  keep?: string[];
  drop?: string[];
  retry_same_route?: boolean;
  use_new_idempotency_key?: boolean;
  /** Until then a payment that was not used up is good for the same call. */
  retry_until?: string;
  links?: Record<string, string>;
}

export interface ErrorBody {
  code: string;
  message: string;
  details?: Record<string, unknown>;
  recovery?: Recovery;
}

export interface Health {
  status: string;
  version: string;
  timestamp: string;
  mode?: { payments: 'sandbox' | 'live' };
}

/** A listing as other resources name it. */
export interface ListingRef {
  id: string;
  name: string;
  slug: string;
}
