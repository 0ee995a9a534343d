import { z } from 'zod';
import { relayDestination, relayRoutes } from './relay-settings.js';

const routes = z.string().transform(relayRoutes);
const destination = z.string().transform(relayDestination);
const MAINNET = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

describe('routes of Relay', () => {
  it('are places in the words of both sides, with the least price that is usual there or the one that is said', () => {
    expect(routes.parse(`eip155:8453:ETH=0.25, eip155:42161:USDC,${MAINNET}:SOL`)).toEqual([
      {
        network: 'eip155:8453',
        currency: 'ETH',
        chainType: 'evm',
        chainId: 8453,
        decimals: 18,
        address: '0x0000000000000000000000000000000000000000',
        minimumMicros: 250_000n,
      },
      {
        network: 'eip155:42161',
        currency: 'USDC',
        chainType: 'evm',
        chainId: 42161,
        decimals: 6,
        address: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
        minimumMicros: 100_000n,
      },
      {
        network: MAINNET,
        currency: 'SOL',
        chainType: 'solana',
        chainId: 792_703_809,
        decimals: 9,
        address: '11111111111111111111111111111111',
        minimumMicros: 10_000n,
      },
    ]);
    expect(destination.parse('solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1:USDC')).toMatchObject({
      chainId: 1_936_682_084,
      address: '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
    });
  });

  it.each([
    '',
    'eip155:8453',
    'eip155:8453:BTC',
    'eip155:8453:SOL',
    'eip155:137:ETH',
    'eip155:0:ETH',
    'eip155:99999:USDC',
    'eip155:8453:ETH=',
    'eip155:8453:ETH=0',
    'eip155:8453:ETH=-1',
    'eip155:8453:ETH=0.0000001',
    'solana:mainnet:SOL',
    `${MAINNET}:ETH`,
    'eip155:8453:ETH,,',
  ])('are refused where there is no such place or price: %s', (text) =>
    expect(routes.safeParse(text).success).toBe(false),
  );

  it.each(['eip155:8453:ETH', `${MAINNET}:SOL`, 'eip155:8453:USDC=1', 'eip155:99999:USDC', ''])(
    'end where USDC is known, and nowhere else: %s',
    (text) => expect(destination.safeParse(text).success).toBe(false),
  );
});
