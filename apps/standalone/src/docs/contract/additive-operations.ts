/** What is served beside the interface's own operations, and why: each only adds. */
export const additiveOperations: Record<string, string> = {
  'POST /auth/session': 'how a human signs in, which the interface does not show',
  'DELETE /auth/session': 'how a human signs out',
  'GET /api-keys/{keyId}': 'what a key may spend and has spent',
  'PATCH /api-keys/{keyId}': 'what a key may spend',
  'GET /me/budget': 'what all keys of an agent may spend together and have spent',
  'PATCH /me/budget': 'what they may spend, and the switch that stops them',
  'GET /gateway-requests/{requestId}': 'one record of the history',
  'GET /payments/{paymentId}': 'where a payment stands, since a payment can be underpaid, late or owed back',
  'GET /me/balance': 'where the money of an account stands: received, owed, due',
  'POST /fees/payments': 'how a seller that was paid by its buyers pays the fees, with x402',
  'GET /receipts/{receiptId}/proof': 'a signature over a receipt, which anyone verifies offline',
  'GET /payment-routes': 'which currencies and chains a payment can take now, and the headers that choose one',
  'POST /x402/{listingId}': 'the paid call for x402 clients, which have no key',
  'GET /x402/{listingId}': 'what it costs, for indexers that only read',
  'POST /webhooks/relay': 'where Relay, which carries payments between chains, says that one has moved',
  'POST /sandbox/payments/{relayRequestId}/pay': 'pays an offer where no chain is asked; exists in sandbox mode alone',
  'GET /events': 'what concerns an account, as a page and as a stream',
  'GET /discovery/resources': 'the listings that are paid per call, as x402 clients read a facilitator',
  'GET /discovery/search': 'a search among them',
  'GET /recovery-actions': 'the closed set of what error.recovery.next_action can say',
  'GET /openapi.json': 'the interface for machines, made from the code',
};

/** Documents outside the version prefix. */
export const documentPaths: Record<string, string> = {
  'GET /': "the console's first page",
  'GET /catalog': "the console's catalog",
  'GET /listings/:slug': "the console's page of a listing",
  'GET /sign-in': "the console's sign-in",
  'GET /mine': "the console's pages of a human's own agents; and those below it",
  'GET /assets/:name': "the console's files",
  'GET /llms.txt': 'the service in one page for language models',
  'POST /mcp': 'the marketplace for MCP clients',
  'POST /mcp/:listing': 'one listing for MCP clients, as one tool',
  'GET /docs': 'the OpenAPI document as a page; and what the page loads, below it',
  'GET /.well-known/api-catalog': 'where the interface and its description are (RFC 9727)',
  'GET /.well-known/x402': 'where crawlers of x402 find what can be paid for',
  'GET /.well-known/security.txt': 'whom to tell of a weakness (RFC 9116)',
  'GET /.well-known/jwks.json': 'the keys that sign receipts',
  'GET /.well-known/did.json': 'the same keys for clients that look them up by did:web',
};

/** Setup of stored funds, gone for good: 410 to any method. */
export const retiredPaths = [
  '/payments/setup',
  '/payments/setup-intents',
  '/payments/fund',
  '/payment-methods',
  '/wallet/deposit',
  '/wallet/balance',
];
