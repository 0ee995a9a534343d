import { parseTransaction } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { startRpcServer, type RpcServer } from '../test/rpc-server.js';
import { evmPayer, type EvmChain } from './evm-payer.js';
import type { PaymentOffer } from './types/payments.js';

const NETWORK = 'eip155:84532';
const DEPOSIT = '0x52908400098527886E0F7030069857D2E4169EE7';
const account = privateKeyToAccount(generatePrivateKey());
const asking = (currency: 'ETH' | 'USDC' | 'SOL', amount: string, network = NETWORK, provider = 'onchain-evm'): PaymentOffer => ({
  relay_request_id: 'a',
  provider,
  requirements: { depositAddress: DEPOSIT, amount, currency, network, relayRequestId: 'a', expiresAt: '2030-01-01T00:00:00Z' },
});

/** Against a server that says what this test wants; that money arrives is shown on a real chain, in the end-to-end tests. */
describe('evmPayer', () => {
  let rpc: RpcServer;
  let chainId = '0x14a34';
  beforeEach(async () => {
    chainId = '0x14a34';
    rpc = await startRpcServer({
      eth_chainId: () => chainId,
      eth_getTransactionCount: () => '0x7',
      eth_estimateGas: () => '0x5208',
      eth_getBlockByNumber: () => ({ number: '0x1', baseFeePerGas: '0x3b9aca00', transactions: [] }),
      eth_maxPriorityFeePerGas: () => '0x1',
      eth_sendRawTransaction: () => {
        throw new Error('insufficient funds for gas * price + value');
      },
      eth_getTransactionByHash: () => null,
    });
  });
  afterEach(() => rpc.close());
  const payer = (more: Partial<EvmChain> = {}) => evmPayer(account, { [NETWORK]: { rpcUrl: rpc.url, ...more } });

  it('signs a transfer of exactly the amount to the deposit address, on the offer’s chain', async () => {
    const eth = parseTransaction((await payer().prepare(asking('ETH', '0.000083333333333334'))).signed as `0x02${string}`);
    expect(eth).toMatchObject({ chainId: 84532, nonce: 7, to: DEPOSIT.toLowerCase(), value: 83_333_333_333_334n });
    const usdc = parseTransaction((await payer().prepare(asking('USDC', '0.25'))).signed as `0x02${string}`);
    expect(usdc).toMatchObject({ chainId: 84532, to: '0x036cbd53842c5426634e7929541ec2318f3dcf7e' });
    expect(usdc.data).toBe(`0xa9059cbb${DEPOSIT.slice(2).toLowerCase().padStart(64, '0')}${(250_000).toString(16).padStart(64, '0')}`);
    expect(rpc.asked).not.toContain('eth_sendRawTransaction');
  });

  it('does not sign where its server serves another chain', async () => {
    chainId = '0x1';
    await expect(payer().prepare(asking('ETH', '0.0001'))).rejects.toThrow(/chain/);
  });

  it('tells that it could not pay, and not the key in the URL of its server', async () => {
    const prepared = await payer().prepare(asking('ETH', '0.0001'));
    const send = () => payer().send!({ ...prepared, relayRequestId: 'a', rail: 'evm', offer: asking('ETH', '0.0001') }).catch((error: unknown) => error as Error);
    const refused = await send();
    expect(refused).toBeInstanceOf(Error);
    await rpc.close();
    const unreachable = await send();
    for (const error of [refused, unreachable]) expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('secret-key');
  });

  it('pays on the chains and in the currencies it may, and in no sandbox', () => {
    expect([payer().canPay(asking('ETH', '1')), payer().canPay(asking('USDC', '1')), payer().canPay(asking('SOL', '1'))]).toEqual([true, true, false]);
    expect([payer({ currencies: ['USDC'] }).canPay(asking('ETH', '1')), payer().canPay(asking('ETH', '1', 'eip155:8453'))]).toEqual([false, false]);
    expect(payer().canPay(asking('ETH', '1', NETWORK, 'sandbox'))).toBe(false);
    expect(evmPayer(account, { 'eip155:31337': { rpcUrl: rpc.url } }).canPay(asking('USDC', '1', 'eip155:31337'))).toBe(false);
  });
});
