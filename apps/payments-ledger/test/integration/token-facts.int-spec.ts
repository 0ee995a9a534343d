import type { MessageBus } from '@market/messaging';
import type { Address } from 'viem';
import { paymentsLedgerConfig } from '../../src/config.js';
import { configuredRails } from '../../src/rails/configured-rails.js';
import { SellerWallets } from '../../src/rails/seller-wallets.js';
import { startEvmHarness, type EvmHarness } from '../support/evm-harness.js';
import { knownDomain, withTokenDomains } from '../../src/rails/x402/token-facts.js';
import { evmChainsOf } from '../../src/rails/x402/x402-settings.js';

describe('name and version of a token', () => {
  let chain: EvmHarness;
  let usdc: Address;
  beforeAll(async () => {
    chain = await startEvmHarness();
    usdc = await chain.deploy('SignedToken');
  });
  afterAll(() => chain.stop());

  const resolved = async (domain?: { name: string; version: string }, url = chain.node.url, asset = usdc) => {
    const chains = evmChainsOf(
      new Map([['eip155:31337', url ? [url] : []]]),
      new Map([['eip155:31337', asset]]),
      new Map(domain && [['eip155:31337', domain]]),
    );
    const warnings: string[] = [];
    const [found] = await withTokenDomains(chains, 2_000, (message) => void warnings.push(message));
    return { ...found!.domain, warnings: warnings.length };
  };

  it.each([
    ['eip155:43114', '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E', 'USD Coin'],
    ['eip155:421614', '0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d', 'USD Coin'],
    ['eip155:84532', '0x036cbd53842c5426634e7929541ec2318f3dcf7e', 'USDC'],
    ['eip155:10', '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85', 'USD Coin'],
    ['eip155:11155111', '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238', 'USDC'],
  ])('are known of %s without its chain', (network, asset, name) => {
    expect(knownDomain(network, asset)).toEqual({ name, version: '2' });
  });

  it('come from the chain where nothing else says them, and a variable may say the same', async () => {
    expect(await resolved()).toEqual({ name: 'USDC', version: '2', warnings: 0 });
    expect(await resolved({ name: 'USDC', version: '2' })).toEqual({ name: 'USDC', version: '2', warnings: 0 });
  });

  it.each([
    [{ name: 'USD Coin', version: '2' }, 'does not take signatures for USD Coin:2; it calls itself USDC:2'],
    [{ name: 'USDC', version: '1' }, 'does not take signatures for USDC:1; it calls itself USDC:2'],
  ])('are not believed against the contract: %j', async (domain, problem) => {
    await expect(resolved(domain)).rejects.toThrow(problem);
  });

  it('are needed, and believed with a warning while no server answers', async () => {
    await expect(resolved(undefined, 'http://127.0.0.1:9')).rejects.toThrow('names no token of eip155:31337');
    const domain = { name: 'USD Coin', version: '2' };
    expect(await resolved(domain, 'http://127.0.0.1:9')).toEqual({ ...domain, warnings: 1 });
    expect(await resolved(domain, '')).toEqual({ ...domain, warnings: 0 });
  });

  it('stop the start where they are wrong', async () => {
    const env = {
      PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 1).toString('base64'),
      PAYMENTS_LEDGER_X402_CHAINS: `eip155:31337=${chain.node.url}`,
      PAYMENTS_LEDGER_X402_USDC: `eip155:31337=${usdc}`,
      PAYMENTS_LEDGER_X402_EIP712: 'eip155:31337=USD Coin:2',
      PAYMENTS_LEDGER_X402_FACILITATOR_URL: 'http://127.0.0.1:9',
      PAYMENTS_LEDGER_FEE_ADDRESS: chain.payer,
    };
    const bus = {} as MessageBus;
    await expect(configuredRails(paymentsLedgerConfig.parse(env, []), bus, new SellerWallets(bus))).rejects.toThrow(
      'PAYMENTS_LEDGER_X402_EIP712: the token',
    );
  });
});
