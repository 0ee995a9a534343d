import { ExactEvmScheme } from '@x402/evm/exact/client';
import { createPublicClient, createWalletClient, erc20Abi, http, parseAbi, publicActions, type Address } from 'viem';
import { HDKey, mnemonicToAccount, nonceManager } from 'viem/accounts';
import { EvmRail } from '../../apps/payments-ledger/src/rails/evm/evm.rail.js';
import type { WatchedOffer } from '../../apps/payments-ledger/src/rails/payment-rail.js';
import { exactPayload, judgeSigned, signedBy, type ExactPayload, type ExactRequirements } from '../../apps/payments-ledger/src/rails/x402/exact-payment.js';
import { LocalFacilitator } from '../../apps/payments-ledger/src/rails/x402/local-facilitator.js';
import { startEvmWorld, type EvmWorld } from '../../apps/payments-ledger/test/support/evm-world.js';
import { compare, countOf, type Compared } from './compare.js';
import { observeExactly, PRICE_IN_WEI, PRICE_MICROS, watchedOffer } from './watched-offer.js';

interface Signed {
  payload: ExactPayload;
  asked: ExactRequirements;
}

const NETWORK = 'eip155:31337';
const abi = parseAbi(['function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)']);

/** Transfers and signed authorizations on anvil, which makes a block of each transaction at once. */
export async function compareEvm(times: number): Promise<Compared[]> {
  const world = await startEvmWorld();
  try {
    const usdc = await world.deploy('SignedToken');
    await world.mint(usdc, world.payer, 10n ** 15n);
    await world.node.mine(2);
    const facilitator = new LocalFacilitator([{ network: NETWORK, chainId: 31_337, rpcUrls: [world.node.url] }], keyOf(world, 3));
    const rail = new EvmRail({
      extendedPublicKey: HDKey.fromMasterSeed(Buffer.alloc(32, 11)).publicExtendedKey,
      chains: [{ network: NETWORK, chainId: 31_337, rpcUrls: [world.node.url], usdc, takesEth: true }],
      minimumMicros: { USDC: 0n, ETH: 0n },
      safeUpToMicros: 0n,
      requestTimeoutMs: 5_000,
      maxHeadAgeSeconds: 86_400,
      facilitator,
    });
    return [...(await looks(times, world, rail, usdc)), ...(await authorizations(times, world, rail, facilitator, usdc))];
  } finally {
    await world.stop();
  }
}

async function looks(times: number, world: EvmWorld, rail: EvmRail, usdc: Address): Promise<Compared[]> {
  const bare = createPublicClient({ transport: http(world.node.url) });
  const balanceOf = ({ depositAddress }: WatchedOffer) => bare.readContract({ address: usdc, abi: erc20Abi, functionName: 'balanceOf', args: [depositAddress as Address], blockTag: 'finalized' });
  const [unpaid, inUsdc, inEth] = [await watchedOffer(rail, 'USDC', PRICE_MICROS), await watchedOffer(rail, 'USDC', PRICE_MICROS), await watchedOffer(rail, 'ETH', PRICE_IN_WEI)];
  await world.sendToken(usdc, inUsdc.depositAddress as Address, PRICE_MICROS);
  await world.sendCoin(inEth.depositAddress as Address, PRICE_IN_WEI);
  await world.node.mine(2);
  return [
    await compare(times, 'EVM, USDC, not paid: observe', 'eth_call of balanceOf', () => balanceOf(unpaid), () => observeExactly(rail, unpaid, 0n)),
    await compare(times, 'EVM, USDC, paid: observe', 'eth_call of balanceOf', () => balanceOf(inUsdc), () => observeExactly(rail, inUsdc, PRICE_MICROS)),
    await compare(times, 'EVM, ETH, paid: observe', 'eth_getBalance', () => bare.getBalance({ address: inEth.depositAddress as Address, blockTag: 'finalized' }), () => observeExactly(rail, inEth, PRICE_IN_WEI)),
  ];
}

/** Each authorization is spent once, so both sides have their own. */
async function authorizations(times: number, world: EvmWorld, rail: EvmRail, facilitator: LocalFacilitator, usdc: Address): Promise<Compared[]> {
  const chain = { id: 31_337, name: 'bench', nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 }, rpcUrls: { default: { http: [world.node.url] } } };
  const bare = createWalletClient({ account: mnemonicToAccount(world.node.mnemonic, { addressIndex: 4, nonceManager }), chain, transport: http(world.node.url) }).extend(publicActions);
  const callOf = ({ payload: { payload } }: Signed) => {
    const { from, to, value, validAfter, validBefore, nonce } = payload.authorization;
    return { address: usdc, abi, functionName: 'transferWithAuthorization', args: [from, to, value, validAfter, validBefore, nonce, payload.signature] } as const;
  };
  const sign = async (): Promise<Signed> => {
    const asked = rail.exact!.requirements(await watchedOffer(rail, 'USDC', PRICE_MICROS))!;
    const { payload } = await new ExactEvmScheme(world.payerAccount as never).createPaymentPayload(2, asked as never);
    return { asked, payload: exactPayload.parse({ x402Version: 2, accepted: asked, payload }) };
  };
  const [theirs, ours]: [Signed[], Signed[]] = [[], []];
  for (let n = 0; n < countOf(times); n += 1) [theirs[n], ours[n]] = [await sign(), await sign()];
  const verify = async ({ payload, asked }: Signed): Promise<void> => {
    const signed = signedBy(payload, asked);
    const judged = signed.valid ? judgeSigned(payload, signed.payer, asked, BigInt(Math.floor(Date.now() / 1_000))) : signed;
    const verified = judged.valid ? await facilitator.verify(payload, asked) : judged;
    if (!verified.valid) throw new Error(`not verified: ${verified.reason}`);
  };
  const settle = async ({ payload, asked }: Signed): Promise<void> => {
    const outcome = await facilitator.settle(payload, asked);
    if (!outcome.settled) throw new Error(`not settled: ${outcome.reason}`);
  };
  return [
    await compare(times, 'x402 in process: verify', 'eth_call of transferWithAuthorization', (n) => bare.simulateContract(callOf(theirs[n]!)), (n) => verify(ours[n]!)),
    await compare(times, 'x402 in process: settle', 'writeContract and its receipt', async (n) => bare.waitForTransactionReceipt({ hash: await bare.writeContract(callOf(theirs[n]!)) }), (n) => settle(ours[n]!)),
  ];
}

const keyOf = (world: EvmWorld, addressIndex: number): `0x${string}` => `0x${Buffer.from(mnemonicToAccount(world.node.mnemonic, { addressIndex }).getHdKey().privateKey!).toString('hex')}`;
