import type { Refusal } from '@market/messaging';
import { readCallHeaders } from './call-headers.js';

const relayRequestId = `0x${'ab'.repeat(32)}`;
const walletId = '019a9f3e-7c2a-7b41-9a53-2f6d1c0e8b11';

const refusedHeaders = (headers: Record<string, string>): string[] => {
  try {
    readCallHeaders(headers);
    return [];
  } catch (error) {
    return ((error as Refusal).details.fields as { field: string }[]).map(({ field }) => field);
  }
};

describe('the headers of a gateway call', () => {
  it('are all optional', () => {
    expect(readCallHeaders({ 'content-type': 'application/json' })).toEqual({});
  });

  it('are read as the contract takes them', () => {
    expect(
      readCallHeaders({
        'x-market-relay-request-id': relayRequestId,
        'x-market-origin-currency': 'SOL',
        'x-market-origin-chain-id': 'eip155:8453',
        'x-market-origin-wallet-id': walletId.toUpperCase(),
        'x-market-payment-scheme': 'exact',
        'x-market-payment-network': 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
      }),
    ).toEqual({
      relayRequestId,
      originCurrency: 'SOL',
      originChainId: 'eip155:8453',
      originWalletId: walletId,
      paymentScheme: 'exact',
      paymentNetwork: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    });
  });

  it.each([
    '',
    '0x',
    relayRequestId.slice(0, -1),
    `${relayRequestId}0`,
    relayRequestId.slice(2),
    `${relayRequestId}, ${relayRequestId}`,
    '0x' + 'g'.repeat(64),
    ` ${relayRequestId}`,
    `0x${'AB'.repeat(32)}`,
  ])('refuse the relay request id %p', (value) => {
    expect(refusedHeaders({ 'x-market-relay-request-id': value })).toEqual(['X-Market-Relay-Request-Id']);
  });

  it('refuse unknown currencies, odd tokens and ids that are none, all named at once', () => {
    expect(
      refusedHeaders({
        'x-market-origin-currency': 'usdc',
        'x-market-origin-chain-id': 'a b',
        'x-market-origin-wallet-id': 'mine',
        'x-market-payment-scheme': 'x'.repeat(65),
        'x-market-payment-network': 'é',
      }),
    ).toEqual([
      'X-Market-Origin-Currency',
      'X-Market-Origin-Chain-Id',
      'X-Market-Origin-Wallet-Id',
      'X-Market-Payment-Scheme',
      'X-Market-Payment-Network',
    ]);
  });
});
