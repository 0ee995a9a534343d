/**
 * Descriptions of the properties whose meaning depends on where they are: by name, and then by the components and
 * properties that contain them.
 */
export const PLACE_DESCRIPTIONS: Record<string, Record<string, string>> = {
  accepts: {
    DiscoveryResource: 'x402: the ways to pay, of which the client signs one; empty where no signature is taken.',
  },
  account: {
    Session: 'The human who signed in.',
    'InspectedPayment.entries': 'Ledger account: one as in GET /ledger, platform:fees or rail:<rail>:clearing.',
  },
  account_type: { 'Registration RecoveredAccount reviewer': 'Always agent: a program with API keys.' },
  accounts: {
    OperatorsSearch: 'Agents and humans that match.',
    statement: "The balances of the caller's ledger accounts.",
  },
  accuracy: {
    Rating: 'Mean accuracy_rating.',
    components: 'As reputation, from accuracy_rating alone; no part of market_score.',
  },
  at: {
    last_test: 'When the test was made.',
    'AccountEvent event': 'When it happened; events are ordered by id.',
    OperatorAction: 'When it was done.',
  },
  attempts: { authorizations: 'How often it was handed in for settlement.' },
  auth_method: {
    ConnectedListing: "What the seller's own service asks of subscribers; null once the listing is gone.",
  },
  budget: { AgentBudget: 'What all keys of the agent may spend together; null without a limit.' },
  buyer_id: { OperatorsPayment: 'The account that pays: a buyer, or a seller that pays fees.' },
  calls: {
    OperatorsOverview: 'Paid calls of all listings.',
    OperatorsSearch: 'Calls that match, or are of an account that does.',
  },
  calls_30d: { 'Agent.quality': 'Calls of its listings on the market that were delivered and charged in 30 days.' },
  categories: { Score: 'The score by category of what it sold; sales without a category are left out.' },
  category: {
    ListingSummary: 'What category_id names; null where it names none.',
    categories: 'Its name and slug.',
  },
  category_id: {
    'ListingSummary CreateListingBody UpdateListingBody': 'A category of GET /categories; null for none.',
    categories: 'A category of GET /categories.',
  },
  checks: {
    ValidateListingAnswer: 'What was checked, in the order in which faults are best mended.',
    EndpointTest: 'The steps of the test as far as it came: reachable, in_time, json, status.',
  },
  claimed_by: {
    Claim: 'The account of the human; a claim is final.',
    InspectedAccount: 'The account of the human that claimed the agent; null without a claim.',
  },
  code: {
    warnings: 'Which warning it is.',
    error: 'The kind of refusal; error.details.reason says which one.',
  },
  comment: {
    Review: "The reviewer's words; null without any.",
    CreateReviewBody: 'What you found, in words that everyone can read.',
  },
  completed_at: {
    'Payment OperatorsPayment': 'When it was booked as completed; null before.',
    SubscriptionOffer: 'When it was booked as completed; absent before.',
    'FeePayment VerifyPaymentAnswer.payment': 'When it was booked as completed.',
  },
  count: { Rating: 'How many reviews there are.' },
  created_at: {
    WalletSummary: 'When the wallet was added to the account.',
    'Profile Agent OperatorsAccount': 'When the account was opened.',
    'ApiKey CreatedApiKey': 'When the key was issued.',
    'ListingSummary CreatedListing InspectedListing': 'When the listing was created.',
    'GatewayRequest OperatorsCall': 'When the call was first asked for.',
    LedgerEntry: 'When it was booked.',
    ReceiptSummary: 'When the sale was booked.',
    Subscription: 'When it began; its subscriber may review the listing for 30 days from then.',
    'Payment OperatorsPayment': 'When the offer was made.',
    authorizations: 'When the buyer first sent it.',
    Review: 'When it was written.',
  },
  cursor: { pagination: 'Send it as cursor for the next page; null on the last.' },
  day: { Spending: 'The present day.' },
  delivery_type: {
    facets: 'By delivery_type.',
    SubscribedListing: 'How the seller says that it delivers; null once the listing is gone.',
  },
  demo_endpoint: { ConnectedListing: 'A URL of the seller to try the service; null where there is none.' },
  description: {
    Category: 'What kind of listings it has.',
    DiscoveryResource: "The listing's name and description.",
    PaidResource: 'x402: what is bought, in words.',
  },
  details: { error: 'Which refusal it is, and what else there is to say of it.' },
  error: { Error: 'What was refused, why, and what to do.' },
  expires_at: {
    Session: 'When the session ends.',
    InspectedPayment: 'Until when the offer can be paid.',
  },
  gateway_signing_secret: {
    RotateSecretAnswer: 'whsec_…: verify calls at your endpoint with it. Shown in this answer alone.',
  },
  id: {
    WalletSummary: 'Names the wallet, as in /me/wallets/{id} and X-Market-Origin-Wallet-Id.',
    'ApiKey CreatedApiKey RevokeApiKeyAnswer RevokedKey': 'Names the key, as in /api-keys/{keyId}; no credential.',
    'Profile account OperatorsAccount': 'The account; of an agent it is the agentId of paths.',
    'Agent Provider Party ReceiptParty reviewer SuspendedAgent': 'The account; GET /agents/{agentId} describes it.',
    'Category CategoryRef': 'The uuid of the category, for category of GET /listings.',
    'ListingSummary CreatedListing RemoveListingAnswer ListingRef SubscribedListing':
      'The uuid of the listing, which is taken wherever its slug is.',
    'near OperatorsListing HeldListing': 'The uuid of the listing.',
    'GatewayRequest OperatorsCall': 'Names the call, as in GET /gateway-requests/{requestId}.',
    LedgerEntry: 'Id of the entry; entries never change.',
    ReceiptSummary: 'Names the receipt, as in GET /receipts/{receiptId}.',
    Refund: 'Names the refund, as in POST /refunds/{refundId}/confirm.',
    'Subscription CancelSubscriptionAnswer': 'Names the subscription, as in /subscriptions/{subscriptionId}.',
    Review: 'Id of the review; an agent reviews a listing at most once.',
    OperatorsPayment: 'Names the payment, as in GET /admin/payments/{paymentId}.',
    authorizations: 'Id of the stored signature.',
    OperatorAction: 'Id of the record; later ones have greater ids.',
    'AccountEvent event': 'Its number among the events of the account; send the last one as cursor.',
    rails: 'Payment rail: sandbox, relay, x402 (EVM) or x402-solana.',
  },
  label: {
    WalletSummary: 'How the account tells its wallets apart; null without a label.',
    example_outputs: 'What the sample shows.',
  },
  latency_ms: {
    'CallAttempt EndpointTest last_test': 'Milliseconds until the seller had answered, or the attempt was given up.',
  },
  limits: {
    Endpoint: 'How large calls and answers may be, and how many are taken.',
    UpdateEndpointBody: 'The limits to change; others stay as they are.',
  },
  listing: {
    ValidateListingAnswer: 'The listing that was checked.',
    'SubscriptionSummary SubscriptionDetail': 'What is subscribed to.',
    LedgerEntry: 'The listing, named as when it was sold; null for fees that were paid and payouts.',
    OperatorsPayment: 'The listing, named as when it was sold; null for fees.',
  },
  listings: {
    Agent: 'What it has on the market.',
    OperatorsSearch: 'Listings that match, in any state, or are of an account that does.',
  },
  message: {
    Challenge: 'Sign exactly this text, byte for byte.',
    warnings: 'What it means and what to do, in words.',
    checks: 'What was found, in words.',
    error: 'What it means, in words, which may change.',
  },
  month: { Spending: 'The present month.' },
  name: {
    'ApiKey CreatedApiKey': 'How the account tells its keys apart.',
    'Category CategoryRef categories.category': 'Name of the category, for display.',
    'ListingSummary CreatedListing CreateListingBody UpdateListingBody ListingRef':
      'What the listing is called; other sellers may use the same name.',
    'near SubscribedListing OperatorsListing HeldListing': 'What the listing is called.',
    extra: "EVM: name in the token's EIP-712 domain.",
    'ValidateListingAnswer.checks': 'What was checked.',
    'EndpointTest.checks': 'The step: reachable, in_time, json or status.',
    auth_header: 'Name of an HTTP header.',
  },
  ok: {
    last_test: 'Whether the answer was JSON with a 2xx status.',
    checks: 'Whether the step succeeded.',
  },
  outcome: {
    'PaySandboxBody SandboxPayment':
      'What the play money does: late comes after expiry, pending is final a while later, underpaid is half of what is missing.',
  },
  pagination: { searchResources: 'Which part of the found resources this page is.' },
  payer: { Receipt: 'The agent that paid.' },
  payment: {
    'GatewayRequest OperatorsCall': 'How it is paid; null for a free call.',
    VerifyPaymentAnswer: 'The payment, which is completed.',
    data: 'The offer to pay.',
  },
  payment_id: {
    'reference OperatorsCall': 'The payment, as in GET /payments/{paymentId}; null where there is none.',
    'FeePayment FeePaymentPending': 'The payment of fees; GET /ledger refers to it.',
    VerifyPaymentBody: 'The payment to look for, as POST /subscribe or POST /payments named it.',
  },
  payments: {
    mode: 'sandbox: play money, and no chain is asked. live: real money.',
    days: 'Calls and periods of subscriptions that were paid and booked on the day.',
    refunds_due: 'How many payments it is.',
    OperatorsSearch: 'Payments that match, or are of an account that does.',
  },
  previous_secret_expires_at: { RotateSecretAnswer: 'Until when calls carry the signature of the secret before, too.' },
  pricing_model: { facets: 'By pricing_model.' },
  provider: { 'ListingSummary SubscribedListing': 'The seller.' },
  reason: {
    'CallResult.error': 'Stable word for it, such as timeout or seller_refused; error_code of GET /gateway-requests.',
    'Receipt.refunds Refund':
      'not_delivered: bought nothing in time. paid_late: came after the offer ended. overpaid: beyond the price. ' +
      'unused: a call cost less than the most.',
    provisional:
      'no_transactions, few_transactions (below required), few_independent_buyers, or no_fees_received by the operator.',
    'InspectedPayment.entries': 'Why it was booked, such as call_completed.',
    authorizations: 'Why it was not settled, or what the facilitator first said; null where there was nothing to say.',
    OperatorAction: 'Why, in the words of the operator; null without any.',
  },
  receipt_id: { claims: 'The receipt, as in GET /receipts/{receiptId}.' },
  refunds: {
    Receipt: 'What was paid beyond the price and is owed back, or was paid back.',
    Balance: 'What is owed back, to the account and by it.',
  },
  relay_request_id: {
    CallPayment: 'Names the offer, as the header X-Market-Relay-Request-Id does; null to the seller.',
    'Receipt claims OperatorsPayment SandboxPayment': 'Names the offer that was paid.',
  },
  reliability: {
    Rating: 'Mean reliability_rating.',
    components: 'Share of calls that were delivered, weighted by buyer, at most 20 calls of each; 1000 is all.',
  },
  request_digest: { claims: 'SHA-256 in hex of the body in canonical form (RFC 8785); null for a subscription.' },
  request_id: { EndpointTest: 'Names the test, as X-Market-Request-Id did at the endpoint.' },
  resource: {
    DiscoveryResource: 'The URL to call: over HTTP without a key, or of the MCP server.',
    'X402PaymentRequired KeylessPaymentRequired': 'x402: what is paid for.',
  },
  response_digest: { claims: "SHA-256 in hex of the seller's JSON as it came; null for a subscription." },
  role: { Profile: 'Whether the account may buy, sell or both; new accounts may do both.' },
  scheme: {
    accepts: 'x402: exact, a signed transfer of just this amount; upto, of what the call uses, at most this amount.',
    'Endpoint.signature': 'How calls are signed: as Standard Webhooks.',
  },
  score: {
    Agent: 'How it does as a seller, in brief.',
    categories: 'market_score by the sales of this category alone.',
  },
  search: { ValidateListingAnswer: 'How a buyer who asks for q finds it.' },
  seller_id: { OperatorsPayment: 'The account of the seller; null for fees.' },
  seller_status_code: {
    CallResult: "The seller's HTTP status; 504 without an answer in time, 502 without a usable one.",
    claims: "The seller's HTTP status; null for a subscription.",
  },
  signature: { Endpoint: 'How calls to it are signed.' },
  slug: {
    'Category CategoryRef categories.category': 'Short form of the name; filters take the id.',
    'near OperatorsListing': 'Names the listing in URLs.',
  },
  state: { authorizations: 'held, settling, settled, refused or lapsed.' },
  status: {
    Health: 'Always ok: the edge answers.',
    'WalletSummary UpdateWalletBody': 'A disabled wallet can do nothing, whatever its capabilities.',
    Claim: 'Always claimed: a claim takes effect at once.',
    'ListingSummary CreatedListing OperatorsListing HeldListing':
      'draft: seen by its owner alone. active: on the market. suspended: off it.',
    RemoveListingAnswer: 'Always suspended; absent where the listing was deleted.',
    'CreateListingBody UpdateListingBody': 'draft: seen by its owner alone. active: on the market.',
    'ValidateListingAnswer.checks':
      'failed: keeps buyers from it. warning: makes it less likely. skipped: not checked.',
    Endpoint: 'unverified: its URL has not answered yet; calls are taken. paused by its owner, or failing: none are.',
    UpdateEndpointBody: 'paused: no calls are taken. active: as its health allows.',
    'CallResult.refund': 'Always refund_due: what was paid is owed back.',
    'KeylessOffer SubscriptionOffer executeCall.data.payment subscribe.data':
      'pending: to be paid. underpaid: the rest is missing. verified: the money is there. completed: booked.',
    'Payment SandboxPayment':
      'pending, underpaid, verified (paid, not booked), completed, expired, failed, cancelled, refund_due, refunded or ' +
      'indeterminate (the outcome is not known yet).',
    'refund Receipt.refunds Refund': 'refund_due: still owed. refunded: paid back.',
    'Balance.fees':
      'notice: over half of limit is due. overdue: over limit, or a refund unpaid, for too long; paid listings are off.',
    'FeePayment VerifyPaymentAnswer.payment': 'Always completed: it is paid and booked.',
    Subscription: 'active; cancelled by its subscriber; expired at its period end.',
    CancelSubscriptionAnswer: 'Always cancelled: access ends at once.',
    'Score Agent.score': 'unscored: nothing was bought, failed or reviewed yet. inactive: no activity in 90 days.',
  },
  status_code: { last_test: 'HTTP status of the answer; 504 without one in time, 502 without a usable one.' },
  success: { EndpointTest: 'Whether the answer was JSON with a 2xx status.' },
  success_rate: {
    DayQuality: 'Share of paid calls and tests delivered, 0 to 1, counted as success_rate_7d; null without any.',
    categories: 'Delivered calls as a share of these and all failed attempts, 0 to 1; null without any.',
  },
  success_rate_30d: { 'Agent.quality': 'Mean of success_rate_30d of its listings, by their calls; null without any.' },
  tags: { DiscoveryResource: 'At most 5 tags of the listing, those in ASCII with at most 32 characters.' },
  title: { CreateReviewBody: 'A headline that everyone can read.' },
  total: {
    'ValidateListingAnswer.search': 'How many listings q finds.',
    'Agent.listings': 'How many listings it has on the market.',
  },
  transaction_hash: {
    'ReceiptSummary claims SandboxPayment':
      'The transaction that moved the money, on Solana its signature; empty without one.',
    'payouts FeePayment SubscriptionOffer VerifyPaymentAnswer.payment':
      'The transaction that moved the money, on Solana its signature.',
  },
  type: {
    DiscoveryResource: 'http: a POST of JSON. mcp: the tool of an MCP server.',
    input: 'x402 Bazaar: how the call is made.',
    output: 'x402 Bazaar: the kind of answer.',
    LedgerEntry:
      'direct_payment: bought. seller_credit: sold. marketplace_fee: fee or its payment. adjustment: refund, payout.',
    'InspectedPayment.entries': 'As type of GET /ledger.',
  },
  updated_at: { Endpoint: 'When its settings or its state last changed.' },
  value: {
    Rating: 'Mean value_rating.',
    auth_header: 'Sent to the seller with each call; stored encrypted and never shown.',
  },
  version: {
    Health: 'The version of the interface.',
    extra: "EVM: version in the token's EIP-712 domain.",
    InspectedListing: 'Grows with each change of the listing.',
  },
  wallet_address: {
    Registration: 'The address that was proven, now the primary wallet.',
    'RecoveredAccount Session.account': 'The address that was proven.',
  },
  x402: {
    'SubscriptionOffer executeCall.data.payment subscribe.data':
      'What x402 clients sign; null where no signature is taken.',
  },
};
