/** What there was before calls were paid one by one; the tests hold the edge to this list. */
export const RETIRED_PATHS = [
  'payments/setup',
  'payments/setup-intents',
  'payments/fund',
  'payment-methods',
  'wallet/deposit',
  'wallet/balance',
];
