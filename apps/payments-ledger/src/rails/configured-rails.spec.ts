import type { MessageBus } from '@market/messaging';
import { DEFAULT_ASSETS } from '@x402/evm';
import { paymentsLedgerConfig } from '../config.js';
import { configuredRails } from './configured-rails.js';
import { SellerWallets } from './seller-wallets.js';

const bus = {} as MessageBus;
const BY_X402 = {
  PAYMENTS_LEDGER_X402_CHAINS: 'eip155:8453,eip155:137=https://a.test|https://b.test',
  PAYMENTS_LEDGER_X402_FACILITATOR_URL: 'https://facilitator.test',
  PAYMENTS_LEDGER_FEE_ADDRESS: '0x3333333333333333333333333333333333333333',
};
const TO_OPERATOR = { PAYMENTS_LEDGER_X402_PAY_TO: 'operator' };
const BY_RELAY = {
  PAYMENTS_LEDGER_RELAY_URL: 'https://api.testnets.relay.link',
  PAYMENTS_LEDGER_RELAY_API_KEY: 'key',
  PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: '0x2222222222222222222222222222222222222222',
};

async function railsOf(env: Record<string, string>) {
  const problems: string[] = [];
  const config = paymentsLedgerConfig.parse(
    { PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 1).toString('base64'), ...env },
    problems,
  );
  if (problems.length > 0) throw new Error(problems.join());
  return (await configuredRails(config, bus, new SellerWallets(bus))).map((rail) => [
    rail.id,
    ...rail.routes().map(({ network, currency }) => `${network}:${currency}`),
  ]);
}

describe('live payments', () => {
  it('need a rail', async () => {
    for (const env of [{}, { ...BY_RELAY, PAYMENTS_LEDGER_RELAY_URL: '' }])
      await expect(railsOf({ ...env, PAYMENTS_MODE: 'live' })).rejects.toThrow(
        'PAYMENTS_MODE: live needs a payment rail',
      );
    expect(await railsOf({ ...BY_RELAY, PAYMENTS_MODE: 'live' })).toHaveLength(1);
  });
});

describe('the x402 rail', () => {
  it('is off until it is turned on, and takes USDC on its chains then, also where no RPC server is known', async () => {
    expect(await railsOf({})).toEqual([]);
    for (const payTo of [{}, { ...TO_OPERATOR, PAYMENTS_LEDGER_X402_PAY_TO_ADDRESS: `0x${'1'.repeat(40)}` }])
      expect(await railsOf({ ...BY_X402, ...payTo, PAYMENTS_MODE: 'live' })).toEqual([
        ['x402', 'eip155:8453:USDC', 'eip155:137:USDC'],
      ]);
    expect(
      await railsOf({
        ...BY_X402,
        PAYMENTS_LEDGER_X402_CHAINS: 'eip155:43114',
        PAYMENTS_LEDGER_X402_USDC: 'eip155:43114=0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e',
      }),
    ).toEqual([['x402', 'eip155:43114:USDC']]);
  });

  it('needs no further fact of a chain whose USDC takes signatures and that a stock client knows', async () => {
    const networks = Object.entries(DEFAULT_ASSETS).flatMap(([network, assets]) =>
      assets.some(({ symbol, assetTransferMethod }) => symbol === 'USDC' && !assetTransferMethod) ? [network] : [],
    );
    expect(networks).toEqual(expect.arrayContaining(['eip155:43114', 'eip155:143', 'eip155:42220', 'eip155:421614']));
    expect(await railsOf({ ...BY_X402, PAYMENTS_LEDGER_X402_CHAINS: networks.join(',') })).toEqual([
      ['x402', ...networks.map((network) => `${network}:USDC`)],
    ]);
  });

  it.each([
    ['an operator to be paid who has no address', TO_OPERATOR, 'PAYMENTS_LEDGER_X402_PAY_TO_ADDRESS: is needed'],
    [
      'what is no address to be paid',
      { ...TO_OPERATOR, PAYMENTS_LEDGER_X402_PAY_TO_ADDRESS: '0x11' },
      'PAYMENTS_LEDGER_X402_PAY_TO_ADDRESS: must be an EVM address',
    ],
    [
      'an address of the operator that nobody pays',
      { PAYMENTS_LEDGER_X402_PAY_TO_ADDRESS: '0x1111111111111111111111111111111111111111' },
      'PAYMENTS_LEDGER_X402_PAY_TO_ADDRESS: is paid with PAYMENTS_LEDGER_X402_PAY_TO=operator alone',
    ],
    [
      'nobody for the fees that sellers owe',
      { PAYMENTS_LEDGER_FEE_ADDRESS: '' },
      'PAYMENTS_LEDGER_FEE_ADDRESS: is needed',
    ],
    [
      'nobody who settles',
      { PAYMENTS_LEDGER_X402_FACILITATOR_URL: '' },
      'PAYMENTS_LEDGER_X402_FACILITATOR_URL: is needed',
    ],
    [
      'a chain that it should settle on and cannot reach',
      { PAYMENTS_LEDGER_X402_FACILITATOR_URL: '', PAYMENTS_LEDGER_X402_FACILITATOR_KEY: `0x${'1'.repeat(64)}` },
      'PAYMENTS_LEDGER_X402_CHAINS: names no RPC server of eip155:8453',
    ],
    [
      'a chain whose USDC nobody knows',
      { PAYMENTS_LEDGER_X402_CHAINS: 'eip155:31337' },
      'PAYMENTS_LEDGER_X402_USDC: names no contract on eip155:31337',
    ],
    [
      'a token whose name nobody knows',
      {
        PAYMENTS_LEDGER_X402_CHAINS: 'eip155:31337',
        PAYMENTS_LEDGER_X402_USDC: 'eip155:31337=0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e',
      },
      'PAYMENTS_LEDGER_X402_EIP712: names no token of eip155:31337',
    ],
    [
      'a name without a version',
      { PAYMENTS_LEDGER_X402_EIP712: 'eip155:8453=USD Coin' },
      'PAYMENTS_LEDGER_X402_EIP712: it is a list',
    ],
    ['a chain that is none', { PAYMENTS_LEDGER_X402_CHAINS: 'base' }, 'PAYMENTS_LEDGER_X402_CHAINS: it is a list'],
    [
      'three servers of a chain',
      { PAYMENTS_LEDGER_X402_CHAINS: 'eip155:8453=https://a|https://b|https://c' },
      'PAYMENTS_LEDGER_X402_CHAINS: eip155:8453 takes one or two',
    ],
  ])('does not start with %s', (_name, env, problem) =>
    expect(railsOf({ ...BY_X402, ...env })).rejects.toThrow(problem),
  );
});

describe('the Relay rail', () => {
  it('is off until it is turned on, and has the usual routes then or those that are named', async () => {
    expect(await railsOf({})).toEqual([]);
    expect(await railsOf(BY_RELAY)).toEqual([
      ['relay', 'eip155:8453:ETH', 'eip155:42161:USDC', 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:SOL'],
    ]);
    expect(
      await railsOf({
        ...BY_RELAY,
        PAYMENTS_LEDGER_RELAY_ROUTES: 'eip155:11155111:ETH',
        PAYMENTS_LEDGER_RELAY_DESTINATION: 'eip155:84532:USDC',
      }),
    ).toEqual([['relay', 'eip155:11155111:ETH']]);
    expect(
      (await railsOf({ ...BY_RELAY, PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: '', PAYMENTS_LEDGER_FEE_BPS: '0' }))[0]![0],
    ).toBe('relay');
  });

  it.each([
    ['no key', { PAYMENTS_LEDGER_RELAY_API_KEY: '' }, 'PAYMENTS_LEDGER_RELAY_API_KEY: is needed'],
    [
      'nobody for the fee',
      { PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: '' },
      'PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: is needed',
    ],
    ['a fee for what is no address', { PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: '0x22' }, 'must be an EVM address'],
    [
      'a route that ends where it begins',
      { PAYMENTS_LEDGER_RELAY_ROUTES: 'eip155:8453:USDC' },
      'PAYMENTS_LEDGER_RELAY_ROUTES: names PAYMENTS_LEDGER_RELAY_DESTINATION',
    ],
    [
      'a route nobody knows',
      { PAYMENTS_LEDGER_RELAY_ROUTES: 'eip155:8453:DOGE' },
      'PAYMENTS_LEDGER_RELAY_ROUTES: it is a list',
    ],
    [
      'sellers paid in what has a rate',
      { PAYMENTS_LEDGER_RELAY_DESTINATION: 'eip155:8453:ETH' },
      'PAYMENTS_LEDGER_RELAY_DESTINATION: must be USDC',
    ],
  ])('does not start with %s', (_name, env, problem) =>
    expect(railsOf({ ...BY_RELAY, ...env })).rejects.toThrow(problem),
  );
});
