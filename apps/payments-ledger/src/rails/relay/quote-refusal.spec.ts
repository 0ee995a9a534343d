import { quoteRefusal } from './quote-refusal.js';
import { RelayRejected, RelayUnavailable } from './relay-api.js';
import { QuoteTooExpensive, QuoteWithoutFee } from './relay-quote.js';

const NO_ROUTE = [
  'NO_QUOTES',
  'NO_SWAP_ROUTES_FOUND',
  'NO_INTERNAL_SWAP_ROUTES_FOUND',
  'INSUFFICIENT_LIQUIDITY',
  'SWAP_IMPACT_TOO_HIGH',
  'UNSUPPORTED_ROUTE',
  'UNSUPPORTED_CHAIN',
  'CHAIN_DISABLED',
  'ROUTE_TEMPORARILY_RESTRICTED',
  'INVALID_ADDRESS',
];
const SANCTIONED = ['SANCTIONED_WALLET_ADDRESS', 'SANCTIONED_CURRENCY'];
const NOT_NOW = ['SWAP_QUOTE_FAILED', 'PRICE_FETCH_FAILED', 'UNAUTHORIZED', 'FORBIDDEN', 'UNKNOWN_ERROR', 'A_NEW_ONE'];

const told = (error: Error) => {
  const { reason, declaration, details } = quoteRefusal(error, 'relay');
  return [
    reason,
    declaration.kind,
    declaration.recovery?.nextAction,
    (details as { retry_after_seconds?: number }).retry_after_seconds,
  ];
};

describe('a quote that brings no offer', () => {
  it('is below the minimum where Relay says so, and where Relay would take no fee of ours', () => {
    for (const error of [new RelayRejected('AMOUNT_TOO_LOW'), new QuoteWithoutFee()])
      expect(told(error)).toEqual([
        'payment_route_minimum_not_met',
        'invalid',
        'retry_with_solana_payment_route',
        undefined,
      ]);
  });

  it.each(NO_ROUTE)('is no route: %s', (code) =>
    expect(told(new RelayRejected(code))).toEqual([
      'payment_route_unavailable',
      'invalid',
      'choose_another_payment_route',
      undefined,
    ]),
  );

  it('is no route where it is too dear', () =>
    expect(told(new QuoteTooExpensive())[0]).toBe('payment_route_unavailable'));

  it.each(SANCTIONED)('is not for these wallets: %s', (code) =>
    expect(told(new RelayRejected(code))).toEqual([
      'payment_provider_refused',
      'forbidden',
      'choose_another_payment_route',
      undefined,
    ]),
  );

  it.each(NOT_NOW)('says nothing of the request: %s', (code) =>
    expect(told(new RelayRejected(code))).toEqual([
      'payment_provider_unavailable',
      'unavailable',
      'retry_after_delay',
      10,
    ]),
  );

  it('is worth another try when Relay can be asked again, and soon after an answer that is not as asked', () => {
    expect(told(new RelayUnavailable('Relay was asked too often', 37))).toEqual([
      'payment_provider_unavailable',
      'unavailable',
      'retry_after_delay',
      37,
    ]);
    expect(told(new Error('another wallet is paid'))).toEqual([
      'payment_provider_unavailable',
      'unavailable',
      'retry_after_delay',
      10,
    ]);
  });
});
