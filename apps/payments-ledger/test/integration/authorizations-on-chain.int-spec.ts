import { authorizationTypes } from '@x402/evm';
import { randomBytes } from 'node:crypto';
import { bytesToHex, encodeFunctionData, type Address, type Hex } from 'viem';
import { AuthorizationsOnChain } from '../../src/rails/x402/authorizations-on-chain.js';
import type { ExactRequirements } from '../../src/rails/x402/exact-payment.js';
import type { HeldAuthorization } from '../../src/rails/x402/facilitator.js';
import { startEvmHarness, testAbi, type EvmHarness } from '../support/evm-harness.js';

const PAY_TO: Address = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';
const SOMEBODY: Address = '0x2222222222222222222222222222222222222222';

/** An authorization that was signed and held, and the arguments of the contract call that uses it. */
interface Held {
  held: HeldAuthorization;
  asked: ExactRequirements;
  use: readonly [
    from: Address,
    to: Address,
    value: bigint,
    validAfter: bigint,
    validBefore: bigint,
    nonce: Hex,
    signature: Hex,
  ];
}

describe('what became of an authorization', () => {
  let harness: EvmHarness;
  /** Another chain with the same chain id, on which no authorization is used. */
  let behind: EvmHarness;
  let usdc: Address;
  let batch: Address;

  beforeAll(async () => {
    [harness, behind] = await Promise.all([startEvmHarness(), startEvmHarness()]);
    [usdc] = await Promise.all([harness.deploy('SignedToken'), behind.deploy('SignedToken')]);
    batch = await harness.deploy('Batch');
    await harness.send(usdc, 'mint', [harness.payer, 10n ** 12n]);
  });
  afterAll(() => Promise.all([harness.stop(), behind.stop()]));

  /** Signs an authorization that is valid for five minutes by the clock of the chain. */
  const sign = async ({
    payTo = PAY_TO,
    nonce = bytesToHex(randomBytes(32)),
  }: { payTo?: Address; nonce?: Hex } = {}): Promise<Held> => {
    const { timestamp } = await harness.node.request<{ timestamp: Hex }>('eth_getBlockByNumber', ['latest', false]);
    const validBefore = BigInt(timestamp) + 300n;
    const signature = await harness.payerAccount.signTypedData({
      domain: { name: 'USDC', version: '2', chainId: 31_337, verifyingContract: usdc },
      types: authorizationTypes,
      primaryType: 'TransferWithAuthorization',
      message: { from: harness.payer, to: payTo, value: 250_000n, validAfter: 0n, validBefore, nonce },
    });
    return {
      asked: {
        scheme: 'exact',
        network: 'eip155:31337',
        amount: '250000',
        asset: usdc,
        payTo,
        maxTimeoutSeconds: 300,
        extra: { name: 'USDC', version: '2', relayRequestId: bytesToHex(randomBytes(32)) },
      },
      held: { payer: harness.payer, nonce, validBefore, heldAt: new Date(Number(timestamp) * 1_000), text: '' },
      use: [harness.payer, payTo, 250_000n, 0n, validBefore, nonce, signature],
    };
  };
  const chainOf = (...rpcUrls: string[]) =>
    new AuthorizationsOnChain({ network: 'eip155:31337', chainId: 31_337, usdc, rpcUrls }, 5_000);
  const outcomeOf = ({ held, asked }: Held, authorizations = chainOf(harness.node.url)) =>
    authorizations.settlementOf(held, asked);
  const using = ({ use }: Held): Hex =>
    encodeFunctionData({ abi: testAbi, functionName: 'transferWithAuthorization', args: use });

  it('is settled by the transaction in which it brought its amount to its recipient, whoever sent that', async () => {
    const signed = await sign();
    expect(await outcomeOf(signed)).toBeNull();
    const transactionHash = await harness.send(usdc, 'transferWithAuthorization', signed.use);
    await harness.node.mine(1_500);
    expect(await outcomeOf(signed)).toEqual({ settled: true, transactionHash });
    await harness.pass(600);
    expect(await outcomeOf(signed)).toEqual({ settled: true, transactionHash });
  });

  it('is not settled by a plain transfer of the same amount, nor by another authorization of the same payer', async () => {
    const [signed, other] = [await sign(), await sign()];
    await harness.send(usdc, 'transfer', [PAY_TO, 250_000n]);
    await harness.send(usdc, 'transferWithAuthorization', other.use);
    expect(await outcomeOf(signed)).toBeNull();
  });

  it.each<[string, string, (signed: Held) => Promise<unknown>]>([
    ['it was never used', 'authorization_expired', () => Promise.resolve()],
    [
      'its payer took it back',
      'invalid_exact_evm_nonce_already_used',
      ({ held }) => harness.send(usdc, 'cancelAuthorization', [held.nonce]),
    ],
    [
      'its payer paid somebody else under its nonce',
      'invalid_exact_evm_nonce_already_used',
      async ({ held }) =>
        harness.send(
          usdc,
          'transferWithAuthorization',
          (await sign({ payTo: SOMEBODY, nonce: held.nonce as Hex })).use,
        ),
    ],
    [
      'its nonce paid somebody else, in one transaction with an authorization that pays its recipient as much',
      'invalid_exact_evm_nonce_already_used',
      async ({ held }) =>
        harness.send(batch, 'all', [
          usdc,
          [using(await sign({ payTo: SOMEBODY, nonce: held.nonce as Hex })), using(await sign())],
        ]),
    ],
    [
      'the same came in the other order',
      'invalid_exact_evm_nonce_already_used',
      async ({ held }) =>
        harness.send(batch, 'all', [
          usdc,
          [using(await sign()), using(await sign({ payTo: SOMEBODY, nonce: held.nonce as Hex }))],
        ]),
    ],
  ])('is open as long as it may be used, and then refused for good, where %s', async (_where, reason, happen) => {
    const signed = await sign();
    await happen(signed);
    expect(await outcomeOf(signed)).toBeNull();
    // The authorization has expired, but the block after its end is not final yet.
    await harness.node.request('evm_increaseTime', [600]);
    await harness.node.mine(1);
    expect(await outcomeOf(signed)).toBeNull();
    await harness.node.mine(2);
    expect(await outcomeOf(signed)).toEqual({ settled: false, reason });
  });

  it('is open where one of two servers does not see what the other sees', async () => {
    const signed = await sign();
    const transactionHash = await harness.send(usdc, 'transferWithAuthorization', signed.use);
    expect(await outcomeOf(signed, chainOf(harness.node.url, behind.node.url))).toBeNull();
    expect(await outcomeOf(signed, chainOf(harness.node.url, harness.node.url))).toEqual({
      settled: true,
      transactionHash,
    });
  });

  it('is not known where a server is away, serves another chain, or none is configured', async () => {
    const signed = await sign();
    await expect(outcomeOf(signed, chainOf(harness.node.url, 'http://127.0.0.1:9'))).rejects.toThrow();
    await expect(
      outcomeOf(
        signed,
        new AuthorizationsOnChain({ network: 'eip155:8453', chainId: 8_453, usdc, rpcUrls: [harness.node.url] }, 5_000),
      ),
    ).rejects.toThrow('serves chain 31337');
    await expect(outcomeOf(signed, chainOf())).rejects.toThrow('no RPC server of eip155:31337 is configured');
  });
});
