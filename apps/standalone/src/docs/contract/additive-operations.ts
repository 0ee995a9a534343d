/** What is served beside the interface's own operations, and why: each only adds. */
export const additiveOperations: Record<string, string> = {
  'GET /recovery-actions': 'the closed set of what error.recovery.next_action can say',
  'GET /openapi.json': 'the interface for machines, made from the code',
  'GET /gateway-requests/{requestId}': 'one record of the history',
  'GET /payments/{paymentId}': 'where a payment stands, and what of it is owed back',
  'GET /receipts/{receiptId}/proof': 'a receipt signed by the marketplace, to be verified offline',
  'POST /sandbox/payments/{relayRequestId}/pay': 'pays an offer where no chain is asked; exists in sandbox mode alone',
};

/** Documents outside the version prefix. */
export const documentPaths: Record<string, string> = {
  'GET /.well-known/jwks.json': 'the keys that receipts are signed with',
  'GET /llms.txt': 'the service in one page for language models',
  'GET /docs': 'the OpenAPI document as a page; and what the page loads, below it',
};

/** Setup of stored funds, gone for good: 410 to any method. */
export const retiredPaths = ['/payments/setup', '/payments/setup-intents', '/payments/fund', '/payment-methods', '/wallet/deposit', '/wallet/balance'];
