interface Elsewhere {
  /** Why no request to the marketplace of `recoveries.e2e-spec.ts` is refused so. */
  why: string;
  /** The file of the test that brings it about; it names the reason. */
  test: string;
  /** The title of that test, which does what the recovery says until it succeeds, where there is anything to do. */
  title: string;
}

const OUTAGE = 'a part of the marketplace must fail';
const SETTINGS = 'other settings, under which this test follows it';
const CHAIN = 'a transfer on a chain, of an order that a seller was paid for';

/** The recoveries that the rows of this directory do not walk. */
export const ELSEWHERE: Record<string, Elsewhere> = {
  'INTERNAL_ERROR none': {
    why: 'a bug',
    test: 'apps/api-gateway/src/http/error-body.spec.ts',
    title: 'of a bug tells the request id and nothing else',
  },
  'agent_required do_not_retry': {
    why: 'the edge refuses other accounts before',
    test: 'apps/reputation/test/integration/reviews.int-spec.ts',
    title: 'is by an agent, and not by the seller',
  },
  'sign_in_invalid fix_request': {
    why: 'it needs an OpenID provider',
    test: 'apps/standalone/test/e2e/oidc.e2e-spec.ts',
    title: 'accepts only the sign-in that was begun, once, with its own code',
  },
  'oidc_unavailable retry_after_delay': {
    why: OUTAGE,
    test: 'apps/standalone/test/e2e/oidc.e2e-spec.ts',
    title: 'says that the provider does not answer, and that a sign-in with a wallet does',
  },
  'sandbox_only do_not_retry': {
    why: 'with real money the operation does not exist',
    test: 'apps/payments-ledger/test/integration/offers.int-spec.ts',
    title: 'is not made in live mode, where no rail serves the route',
  },
  'seller_role_required do_not_retry': {
    why: 'every agent may sell',
    test: 'apps/catalog/test/integration/create-listing.int-spec.ts',
    title: '%s as a seller',
  },
  'answer_lost retry_same_request': {
    why: OUTAGE,
    test: 'libs/messaging/src/nats/broker-faults.int-spec.ts',
    title:
      'outlives a process: who waits for it learns within two seconds that it is gone; who waits for another is not disturbed',
  },
  'concurrent_changes retry_same_request': {
    why: OUTAGE,
    test: 'libs/messaging/src/transport.int-spec.ts',
    title: 'that meets a database that is %s is refused by the name of that',
  },
  'deadline_exceeded retry_after_delay': {
    why: OUTAGE,
    test: 'apps/api-gateway/test/integration/access.int-spec.ts',
    title: 'answers 503 and no 401 while identity is out of reach',
  },
  'dependency_unavailable retry_after_delay': {
    why: OUTAGE,
    test: 'apps/gateway/test/integration/paid-call.int-spec.ts',
    title: 'answers what was delivered while the catalog is away, by uuid and by slug, and delivers nothing else',
  },
  'contract_wallet_unverifiable request_new_challenge': {
    why: 'a chain must be unreachable',
    test: 'apps/identity/test/integration/contract-wallets.int-spec.ts',
    title: 'are told so within 2 seconds where the chain %s, and the refusal repeats no URL',
  },
  'receipt_unlike_books contact_operator': {
    why: 'the books must be altered',
    test: 'apps/payments-ledger/test/integration/verify-books.int-spec.ts',
    title: 'of a call, and signs no proof of it: %s',
  },
  'idempotency_in_progress retry_same_request': {
    why: 'a race',
    test: 'apps/standalone/test/e2e/identity.e2e-spec.ts',
    title: 'makes one key for one Idempotency-Key, and shows it again to the same request',
  },
  'listing_limit_reached contact_operator': {
    why: SETTINGS,
    test: 'apps/standalone/test/e2e/listings-limits.e2e-spec.ts',
    title: 'works sixteen times harder after each few, and may have so many and no more',
  },
  'job_not_found do_not_retry': {
    why: 'a seller must take a job',
    test: 'apps/standalone/test/e2e/jobs.e2e-spec.ts',
    title: 'are refused in the order that tells a stranger nothing',
  },
  'length_missing fix_request': {
    why: 'a seller must take a job',
    test: 'apps/standalone/test/e2e/jobs.e2e-spec.ts',
    title: 'are refused in the order that tells a stranger nothing',
  },
  'delivery_too_large fix_request': {
    why: 'a seller must take a job',
    test: 'apps/standalone/test/e2e/jobs.e2e-spec.ts',
    title: 'are refused in the order that tells a stranger nothing',
  },
  'delivery_compressed fix_request': {
    why: 'a seller must take a job',
    test: 'apps/standalone/test/e2e/jobs.e2e-spec.ts',
    title: 'are refused in the order that tells a stranger nothing',
  },
  'delivery_unsigned fix_request': {
    why: 'a seller must take a job',
    test: 'apps/standalone/test/e2e/jobs.e2e-spec.ts',
    title: 'are refused in the order that tells a stranger nothing',
  },
  'result_refused fix_request': {
    why: 'a seller must take a job',
    test: 'apps/standalone/test/e2e/jobs.e2e-spec.ts',
    title: 'are refused in the order that tells a stranger nothing',
  },
  'job_ended do_not_retry': {
    why: 'a seller must take a job',
    test: 'apps/standalone/test/e2e/jobs.e2e-spec.ts',
    title: 'are 202 until they are delivered, and then the answer itself',
  },
  'not_cancellable do_not_retry': {
    why: 'a seller must take a job',
    test: 'apps/standalone/test/e2e/jobs.e2e-spec.ts',
    title: 'are 202 until they are delivered, and then the answer itself',
  },
  'delivery_refused fix_request': {
    why: 'a seller must take a job',
    test: 'apps/gateway/test/integration/jobs.int-spec.ts',
    title: 'tells its progress, which never goes back',
  },
  'progress_too_often retry_after_delay': {
    why: 'a seller must take a job',
    test: 'apps/gateway/test/integration/jobs.int-spec.ts',
    title: 'tells its progress, which never goes back',
  },
  'too_many_jobs retry_after_delay': {
    why: 'a seller must take a job',
    test: 'apps/gateway/test/integration/jobs.int-spec.ts',
    title: 'is one of at most 100 of a buyer at one listing, and of 1,000 of all',
  },
  'storage_full retry_after_delay': {
    why: SETTINGS,
    test: 'apps/gateway/test/integration/files.int-spec.ts',
    title: 'is refused before the seller is called while its parties have no room',
  },
  'content_is_no_script do_not_retry': {
    why: 'a seller must answer with a script',
    test: 'apps/standalone/test/e2e/files.e2e-spec.ts',
    title: 'are shown to their buyer alone',
  },
  'range_not_satisfiable fix_request': {
    why: 'a seller must answer with a file',
    test: 'apps/standalone/test/e2e/files.e2e-spec.ts',
    title: 'may be large, and are read by ranges',
  },
  'overloaded retry_after_delay': {
    why: SETTINGS,
    test: 'apps/standalone/test/e2e/overload.e2e-spec.ts',
    title: 'refuses one more with 503, which is delivered and charged once when it comes again',
  },
  'rate_limited retry_after_delay': {
    why: SETTINGS,
    test: 'apps/standalone/test/e2e/rate-limits.e2e-spec.ts',
    title: 'hold for calls, where a stock client waits as long as it is told',
  },
  'too_many_in_flight retry_after_delay': {
    why: SETTINGS,
    test: 'apps/standalone/test/e2e/rate-limits.e2e-spec.ts',
    title: 'hold for the calls that one account has under way, and end with each',
  },
  'too_many_streams retry_after_delay': {
    why: 'streams are not read by the client of the rows',
    test: 'apps/standalone/test/e2e/events.e2e-spec.ts',
    title: 'opens five streams for an account and no sixth, and refuses what is no id',
  },
  'payout_wallet_missing link_wallet': {
    why: SETTINGS,
    test: 'apps/standalone/test/e2e/payable-sellers.e2e-spec.ts',
    title: 'lists nothing that nobody can pay for, names the chain, and takes it once a wallet is there',
  },
  'seller_not_payable choose_another_listing': {
    why: SETTINGS,
    test: 'apps/standalone/test/e2e/payable-sellers.e2e-spec.ts',
    title: 'does not send a buyer in a circle when the seller has unlinked its wallet, and shows no such listing',
  },
  'more_than_due fix_request': {
    why: SETTINGS,
    test: 'apps/standalone/test/e2e/fees.e2e-spec.ts',
    title: 'is told what is wrong with a payment of them',
  },
  'fees_not_payable contact_operator': {
    why: 'fees are due, and then no payment is taken any more',
    test: 'apps/payments-ledger/test/integration/fees.int-spec.ts',
    title: 'cannot be paid while no payment is taken for them, and can once the operator takes one',
  },
  'too_many_unsettled retry_after_delay': {
    why: 'a settlement must stay unknown',
    test: 'apps/payments-ledger/test/integration/x402-rail.int-spec.ts',
    title: 'has so much work done for it and no more, and pays first after that',
  },
  'not_debtor do_not_retry': {
    why: CHAIN,
    test: 'apps/payments-ledger/test/integration/refunds.int-spec.ts',
    title: 'by the seller is confirmed by its transfer on the chain, once, and by no other',
  },
  'refund_not_checkable contact_operator': {
    why: CHAIN,
    test: 'apps/payments-ledger/test/integration/refunds.int-spec.ts',
    title: 'is confirmed once its buyer has a wallet, and its chain can be asked',
  },
  'refund_wallet_missing retry_after_delay': {
    why: CHAIN,
    test: 'apps/payments-ledger/test/integration/refunds.int-spec.ts',
    title: 'is confirmed once its buyer has a wallet, and its chain can be asked',
  },
  'transfer_not_found fix_request': {
    why: CHAIN,
    test: 'apps/payments-ledger/test/integration/refunds.int-spec.ts',
    title: 'by the seller is confirmed by its transfer on the chain, once, and by no other',
  },
  'transfer_used fix_request': {
    why: CHAIN,
    test: 'apps/payments-ledger/test/integration/refunds.int-spec.ts',
    title: 'by the seller is confirmed by its transfer on the chain, once, and by no other',
  },
  'transfer_not_final retry_after_delay': {
    why: CHAIN,
    test: 'apps/payments-ledger/test/integration/solana-rail.int-spec.ts',
    title: 'to the wallet of the buyer, which the seller pays with one transfer',
  },
  '202 settlement_unknown retry_same_request': {
    why: 'a facilitator must hang',
    test: 'apps/standalone/test/e2e/x402-unknown.e2e-spec.ts',
    title: 'asks for no second signature, with a key and without, and answers the call once it is settled',
  },
  '202 payment_not_seen retry_same_request': {
    why: 'Relay must not have seen a payment that was made',
    test: 'apps/payments-ledger/test/integration/relay-rail.int-spec.ts',
    title: 'which buys the call once Relay has paid the seller, and not before',
  },
  '202 payment_unknown retry_same_request': {
    why: 'Relay must be unreachable',
    test: 'apps/payments-ledger/test/integration/relay-rail.int-spec.ts',
    title: 'and knows nothing where it says %s: not paid is never what that means',
  },
  '200 seller_error request_new_payment_requirements': {
    why: 'the money must move although its facilitator said nothing',
    test: 'apps/standalone/test/e2e/x402-unknown.e2e-spec.ts',
    title:
      'owes a wallet without a key back at once what arrived and was not delivered, and then takes its next signature',
  },
};
