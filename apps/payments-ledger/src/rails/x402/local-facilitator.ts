import { readContractSignature } from '@market/evm';
import { x402Facilitator } from '@x402/core/facilitator';
import { eip3009ABI, PERMIT2_ADDRESS, toFacilitatorEvmSigner, x402UptoPermit2ProxyAddress } from '@x402/evm';
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator';
import { UptoEvmScheme } from '@x402/evm/upto/facilitator';
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  createWalletClient,
  encodeFunctionData,
  http,
  multicall3Abi,
  parseSignature,
  publicActions,
  type Address,
  type Hash,
  type Hex,
  type WriteContractParameters,
} from 'viem';
import { privateKeyToAccount, privateKeyToAddress } from 'viem/accounts';
import type { EvmPayload, ExactPayload, ExactRequirements, Permit2Payload } from './exact-payment.js';
import {
  Facilitator,
  NotTakenError,
  onTheWire,
  settlementFrom,
  type Reserve,
  type Settlement,
  type Verification,
} from './facilitator.js';
import { settlementOf } from './permit2.js';
import { countedNonces, type Nonces } from './gas-accounts.js';
import { Reserves } from './reserves.js';
import { DEFAULT_COIN_PRICES, gasLimitOf, ORDINARY_GAS, TOO_COSTLY, type CoinPrices } from './settlement-cost.js';
import { MULTICALL3, SettlementLane } from './settlement-lane.js';
import type { X402Chain } from './x402-settings.js';

/** Shorter than the blocks of the chains that settle payments. */
const RECEIPT_POLL_MS = 500;

/**
 * Runs the public facilitator packages in this process, so that no third party stands between the marketplace and the
 * chains. Each chain is reached through the first of its servers.
 */
export class LocalFacilitator extends Facilitator {
  /** The account that pays the gas. */
  readonly id: Address;
  private readonly facilitator = new x402Facilitator();
  private readonly servers = new Map<string, Server>();
  private readonly reserves = new Reserves();
  /** The networks that have the contracts by which `upto` payments are settled. */
  private readonly withUpto = new Set<string>();
  /** How much gas the settlement in progress may still take. */
  private readonly allowance = new AsyncLocalStorage<{ gas: bigint }>();

  /**
   * @param privateKey the key of the account that pays the gas. It cannot spend anything else.
   * @param nonces needed if several processes use the key.
   * @param walletFactories the contracts that may be called to deploy a payer's wallet. They are called by the account
   * that pays the gas.
   */
  constructor(
    chains: Pick<X402Chain, 'network' | 'chainId' | 'rpcUrls'>[],
    privateKey: Hex,
    private readonly coinPrices: CoinPrices = DEFAULT_COIN_PRICES,
    nonces: Nonces = countedNonces,
    walletFactories: readonly Address[] = [],
  ) {
    super();
    this.id = privateKeyToAddress(privateKey);
    for (const { network, chainId, rpcUrls } of chains) {
      const chain = {
        id: chainId,
        name: network,
        nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
        rpcUrls: { default: { http: rpcUrls } },
      };
      const account = privateKeyToAccount(privateKey);
      const client = createWalletClient({
        account,
        chain,
        transport: http(rpcUrls[0]),
        pollingInterval: RECEIPT_POLL_MS,
      }).extend(publicActions);
      const estimate = (args: object): Promise<bigint> => client.estimateContractGas({ ...args, account } as never);
      this.servers.set(network, {
        getChainId: () => client.getChainId(),
        getGasPrice: () => client.getGasPrice(),
        getBalance: () => client.getBalance({ address: account.address }),
        account: account.address,
        estimate,
        estimateGas: (call) => client.estimateGas({ ...call, account }),
        getCode: (address) => client.getCode({ address }),
      });
      // The packages request the code before they await the answer. An unhandled rejection would end the process.
      const getCode: typeof client.getCode = (args) => client.getCode(args).catch(() => undefined);
      const lane = new SettlementLane(client, { network, address: account.address }, nonces);
      // A transaction that would fail is recognised before it takes a nonce: concurrent ones would wait for that nonce.
      const writeContract = async (args: WriteContractParameters): Promise<Hash> =>
        lane.send({ ...args, gas: await this.affordable(estimate(args)) });
      const sendTransaction = async ({ to, data }: Deployment): Promise<Hash> =>
        lane.send({ to, data, gas: await this.affordable(client.estimateGas({ account, to, data })) });
      const signer = toFacilitatorEvmSigner({
        ...client,
        getCode,
        writeContract,
        sendTransaction,
        address: account.address,
      } as never);
      const networks = network as `eip155:${number}`;
      registerExactEvmScheme(this.facilitator, { signer, networks, eip6492AllowedFactories: [...walletFactories] });
      this.facilitator.register(networks, new UptoEvmScheme(signer));
    }
  }

  override async readReserves(): Promise<Reserve[]> {
    const reserves = await Promise.all(
      [...this.servers].map(async ([network, { account, getBalance, getGasPrice, getCode }]) => {
        const [balance, price, ...codes] = await Promise.all([
          getBalance(),
          getGasPrice(),
          getCode(PERMIT2_ADDRESS),
          getCode(x402UptoPermit2ProxyAddress),
        ]);
        if (codes.every((code) => code !== undefined)) this.withUpto.add(network);
        return { network, account, settlements: Number(balance / (ORDINARY_GAS * (price > 0n ? price : 1n))) };
      }),
    );
    return this.reserves.note(reserves);
  }

  override problemOn(network: string): string | undefined {
    return this.reserves.problemOn(network);
  }

  override uptoAddressOf(network: string): string | null {
    return this.withUpto.has(network) ? this.id : null;
  }

  async verify(payload: ExactPayload, requirements: ExactRequirements, feeMicros = 0n): Promise<Verification> {
    const problem = this.problemOn(requirements.network);
    if (problem !== undefined) throw new Error(problem);
    const { isValid, invalidReason } = await this.facilitator.verify(...onTheWire(payload, requirements));
    // The packages report these reasons if the server is unavailable.
    if (invalidReason === 'asset_not_deployed_contract')
      throw new Error(`the RPC server of ${requirements.network} knows of no USDC`);
    if (invalidReason !== undefined && /simulation_failed|proxy_not_deployed/.test(invalidReason))
      await this.servers.get(requirements.network)?.getChainId();
    if (!isValid) return { valid: false, reason: invalidReason ?? 'invalid_payload' };
    return this.estimate(payload.payload as EvmPayload | Permit2Payload, requirements, feeMicros);
  }

  async settle(payload: ExactPayload, requirements: ExactRequirements, feeMicros = 0n): Promise<Settlement> {
    const limit = await this.limitOf(requirements, feeMicros).catch((error: Error) => {
      throw new NotTakenError('unreachable', error);
    });
    return settlementFrom(
      await this.allowance.run({ gas: limit }, () => this.facilitator.settle(...onTheWire(payload, requirements))),
    );
  }

  /**
   * Estimates the gas of what `settle` sends. The token asks a payer that has code whether it has signed, and that code
   * may take any amount of gas, or refuse; a payer without code may have to be deployed first.
   */
  private async estimate(
    payload: EvmPayload | Permit2Payload,
    requirements: ExactRequirements,
    feeMicros: bigint,
  ): Promise<Verification> {
    const server = this.serverOf(requirements);
    const gas = await this.limitOf(requirements, feeMicros);
    const estimated =
      'permit2Authorization' in payload
        ? server.estimate(settlementOf(payload as Permit2Payload, requirements))
        : this.estimateTransfer(server, payload as EvmPayload, requirements);
    const isAffordable = await estimated.then((most) => most <= gas).catch(() => null);
    if (isAffordable === null) {
      await server.getChainId();
      return { valid: false, reason: 'invalid_exact_evm_transaction_simulation_failed' };
    }
    return isAffordable ? { valid: true } : { valid: false, reason: TOO_COSTLY };
  }

  private async estimateTransfer(
    server: Server,
    payload: EvmPayload,
    requirements: ExactRequirements,
  ): Promise<bigint> {
    const { own, deployment } = readContractSignature(payload.signature)!;
    const isDeployed = deployment === null || (await server.getCode(payload.authorization.from as Address));
    const transfer = transferOf(payload.authorization, own, requirements);
    return isDeployed ? server.estimate(transfer) : server.estimateGas(afterDeployment(deployment, transfer));
  }

  /** The payer's code may have changed since it was verified. @throws Error before anything is sent. */
  private async affordable(estimated: Promise<bigint>): Promise<bigint> {
    const gas = await estimated;
    const allowance = this.allowance.getStore();
    if (allowance && gas > allowance.gas) throw new Error(`${TOO_COSTLY}: ${gas} gas`);
    if (allowance) allowance.gas -= gas;
    return gas;
  }

  private async limitOf(requirements: ExactRequirements, feeMicros: bigint): Promise<bigint> {
    const gasPrice = await this.serverOf(requirements).getGasPrice();
    return gasLimitOf(requirements.network, feeMicros, gasPrice, this.coinPrices);
  }

  private serverOf({ network }: ExactRequirements): Server {
    const server = this.servers.get(network);
    if (!server) throw new Error(`no RPC server of ${network} is configured`);
    return server;
  }
}

interface Deployment {
  to: Address;
  data: Hex;
}

/** How the reference facilitator moves the money: the token splits a signature of 65 bytes, and takes others whole. */
function transferOf(
  { from, to, value, validAfter, validBefore, nonce }: EvmPayload['authorization'],
  signature: Hex,
  { asset }: ExactRequirements,
): Transfer {
  const terms = [from, to, value, validAfter, validBefore, nonce];
  const call = { address: asset as Address, abi: eip3009ABI, functionName: 'transferWithAuthorization' } as const;
  if (signature.length !== 132) return { ...call, args: [...terms, signature] };
  const { r, s, v, yParity } = parseSignature(signature);
  return { ...call, args: [...terms, v || yParity, r, s] };
}

/** Both in one call, since the second one fails without the first. */
function afterDeployment({ factory, data }: { factory: Address; data: Hex }, transfer: Transfer): Deployment {
  const calls = [
    { target: factory, callData: data, allowFailure: false },
    { target: transfer.address, callData: encodeFunctionData(transfer as never), allowFailure: false },
  ];
  return {
    to: MULTICALL3,
    data: encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args: [calls] }),
  };
}

interface Transfer {
  address: Address;
  abi: typeof eip3009ABI;
  functionName: 'transferWithAuthorization';
  args: readonly unknown[];
}

interface Server {
  getChainId(): Promise<number>;
  getGasPrice(): Promise<bigint>;
  /** Of the account that pays the gas. */
  getBalance(): Promise<bigint>;
  account: Address;
  estimate(args: object): Promise<bigint>;
  estimateGas(call: Deployment): Promise<bigint>;
  getCode(address: Address): Promise<Hex | undefined>;
}
