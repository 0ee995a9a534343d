import type { MessageBus } from '@market/messaging';
import { paymentsLedgerConfig } from '../config.js';
import { configuredRails } from './configured-rails.js';

const bus = {} as MessageBus;
/** Test vector 1 of BIP-32. */
const XPUB = 'xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8';
const BY_RELAY = {
  PAYMENTS_LEDGER_RELAY_URL: 'https://api.testnets.relay.link',
  PAYMENTS_LEDGER_RELAY_API_KEY: 'key',
  PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: '0x2222222222222222222222222222222222222222',
};

function railsOf(env: Record<string, string>) {
  const problems: string[] = [];
  const config = paymentsLedgerConfig.parse({ PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 1).toString('base64'), ...env }, problems);
  if (problems.length > 0) throw new Error(problems.join());
  return configuredRails(config, bus).map((rail) => [rail.id, ...rail.routes().map(({ network, currency }) => `${network}:${currency}`)]);
}

describe('the EVM rail', () => {
  it('takes ETH where it is the own coin of a chain, and USDC where its contract is known', () => {
    const chains = ['eip155:8453', 'eip155:137', 'eip155:43114'].map((network) => `${network}=https://rpc.test`).join();
    expect(railsOf({ PAYMENTS_LEDGER_EVM_XPUB: XPUB, PAYMENTS_LEDGER_EVM_RPC_URLS: chains })).toEqual([['onchain-evm', 'eip155:8453:USDC', 'eip155:8453:ETH', 'eip155:137:USDC']]);
  });
});

describe('prices of coins', () => {
  const SOLANA = { PAYMENTS_LEDGER_SOLANA_SEED: 'ab'.repeat(32), PAYMENTS_LEDGER_SOLANA_RPC_URLS: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp=https://rpc.test' };

  it('must be chosen where real money is taken', () => {
    expect(() => railsOf({ ...SOLANA, PAYMENTS_MODE: 'live' })).toThrow('PAYMENTS_LEDGER_PRICE_SOL: must be set');
    expect(() => railsOf({ PAYMENTS_LEDGER_EVM_XPUB: XPUB, PAYMENTS_MODE: 'live' })).toThrow('PAYMENTS_LEDGER_PRICE_ETH: must be set');
    expect(railsOf({ ...SOLANA, PAYMENTS_MODE: 'live', PAYMENTS_LEDGER_PRICE_SOL: 'fixed:170' })).toHaveLength(1);
    expect(railsOf(SOLANA)).toHaveLength(1);
  });
});

describe('live payments', () => {
  it('need a rail', () => {
    for (const env of [{}, { ...BY_RELAY, PAYMENTS_LEDGER_RELAY_URL: '' }]) expect(() => railsOf({ ...env, PAYMENTS_MODE: 'live' })).toThrow('PAYMENTS_MODE: live needs a payment rail');
    expect(railsOf({ ...BY_RELAY, PAYMENTS_MODE: 'live' })).toHaveLength(1);
  });
});

describe('the Relay rail', () => {
  it('is off until it is turned on, and has the usual routes then or those that are named', () => {
    expect(railsOf({})).toEqual([]);
    expect(railsOf(BY_RELAY)).toEqual([['relay', 'eip155:8453:ETH', 'eip155:42161:USDC', 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:SOL']]);
    expect(railsOf({ ...BY_RELAY, PAYMENTS_LEDGER_RELAY_ROUTES: 'eip155:11155111:ETH', PAYMENTS_LEDGER_RELAY_DESTINATION: 'eip155:84532:USDC' })).toEqual([['relay', 'eip155:11155111:ETH']]);
    expect(railsOf({ ...BY_RELAY, PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: '', PAYMENTS_LEDGER_FEE_BPS: '0' })[0]![0]).toBe('relay');
  });

  it.each([
    ['no key', { PAYMENTS_LEDGER_RELAY_API_KEY: '' }, 'PAYMENTS_LEDGER_RELAY_API_KEY: is needed'],
    ['nobody for the fee', { PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: '' }, 'PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: is needed'],
    ['a fee for what is no address', { PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: '0x22' }, 'must be an EVM address'],
    ['a route that ends where it begins', { PAYMENTS_LEDGER_RELAY_ROUTES: 'eip155:8453:USDC' }, 'PAYMENTS_LEDGER_RELAY_ROUTES: names PAYMENTS_LEDGER_RELAY_DESTINATION'],
    ['a route nobody knows', { PAYMENTS_LEDGER_RELAY_ROUTES: 'eip155:8453:DOGE' }, 'PAYMENTS_LEDGER_RELAY_ROUTES: it is a list'],
    ['sellers paid in what has a rate', { PAYMENTS_LEDGER_RELAY_DESTINATION: 'eip155:8453:ETH' }, 'PAYMENTS_LEDGER_RELAY_DESTINATION: must be USDC'],
  ])('does not start with %s', (_name, env, problem) => expect(() => railsOf({ ...BY_RELAY, ...env })).toThrow(problem));
});
