import { x402Facilitator } from '@x402/core/facilitator';
import { eip3009ABI, toFacilitatorEvmSigner } from '@x402/evm';
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator';
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  createWalletClient,
  http,
  parseSignature,
  publicActions,
  type Address,
  type Hash,
  type Hex,
  type WriteContractParameters,
} from 'viem';
import { privateKeyToAccount, privateKeyToAddress } from 'viem/accounts';
import type { EvmPayload, ExactPayload, ExactRequirements } from './exact-payment.js';
import {
  Facilitator,
  NotTakenError,
  onTheWire,
  settlementFrom,
  type Reserve,
  type Settlement,
  type Verification,
} from './facilitator.js';
import { countedNonces, type Nonces } from './gas-accounts.js';
import { Reserves } from './reserves.js';
import { DEFAULT_COIN_PRICES, gasLimitOf, ORDINARY_GAS, TOO_COSTLY, type CoinPrices } from './settlement-cost.js';
import { SettlementLane } from './settlement-lane.js';
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
  /** The most gas that the settlement in progress may take. */
  private readonly gasLimit = new AsyncLocalStorage<bigint>();

  /**
   * @param privateKey the key of the account that pays the gas. It cannot spend anything else.
   * @param nonces needed if several processes use the key.
   */
  constructor(
    chains: Pick<X402Chain, 'network' | 'chainId' | 'rpcUrls'>[],
    privateKey: Hex,
    private readonly coinPrices: CoinPrices = DEFAULT_COIN_PRICES,
    nonces: Nonces = countedNonces,
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
      });
      // The packages request the code before they await the answer. An unhandled rejection would end the process.
      const getCode: typeof client.getCode = (args) => client.getCode(args).catch(() => undefined);
      const lane = new SettlementLane(client, { network, address: account.address }, nonces);
      // A transaction that would fail is recognised before it takes a nonce: concurrent ones would wait for that nonce.
      const writeContract = async (args: WriteContractParameters): Promise<Hash> =>
        lane.send({ ...args, gas: await this.affordable(estimate(args)) });
      registerExactEvmScheme(this.facilitator, {
        signer: toFacilitatorEvmSigner({ ...client, getCode, writeContract, address: account.address } as never),
        networks: network as `eip155:${number}`,
      });
    }
  }

  override async readReserves(): Promise<Reserve[]> {
    const reserves = await Promise.all(
      [...this.servers].map(async ([network, { account, getBalance, getGasPrice }]) => {
        const [balance, price] = await Promise.all([getBalance(), getGasPrice()]);
        return { network, account, settlements: Number(balance / (ORDINARY_GAS * (price > 0n ? price : 1n))) };
      }),
    );
    return this.reserves.note(reserves);
  }

  override problemOn(network: string): string | undefined {
    return this.reserves.problemOn(network);
  }

  async verify(payload: ExactPayload, requirements: ExactRequirements, feeMicros = 0n): Promise<Verification> {
    const problem = this.problemOn(requirements.network);
    if (problem !== undefined) throw new Error(problem);
    const { isValid, invalidReason } = await this.facilitator.verify(...onTheWire(payload, requirements));
    // The packages report these reasons if the server is unavailable.
    if (invalidReason === 'asset_not_deployed_contract')
      throw new Error(`the RPC server of ${requirements.network} knows of no USDC`);
    if (invalidReason === 'invalid_exact_evm_transaction_simulation_failed')
      await this.servers.get(requirements.network)?.getChainId();
    if (!isValid) return { valid: false, reason: invalidReason ?? 'invalid_payload' };
    return this.estimate(payload.payload as EvmPayload, requirements, feeMicros);
  }

  async settle(payload: ExactPayload, requirements: ExactRequirements, feeMicros = 0n): Promise<Settlement> {
    const limit = await this.limitOf(requirements, feeMicros).catch((error: Error) => {
      throw new NotTakenError('unreachable', error);
    });
    return settlementFrom(
      await this.gasLimit.run(limit, () => this.facilitator.settle(...onTheWire(payload, requirements))),
    );
  }

  /**
   * Estimates the gas of the call by which `settle` moves the money. The token asks a payer that has code whether it has
   * signed, and that code may take any amount of gas, or refuse.
   */
  private async estimate(
    { authorization, signature }: EvmPayload,
    requirements: ExactRequirements,
    feeMicros: bigint,
  ): Promise<Verification> {
    const server = this.serverOf(requirements);
    const gas = await this.limitOf(requirements, feeMicros);
    const { from, to, value, validAfter, validBefore, nonce } = authorization;
    const { r, s, v, yParity } = parseSignature(signature as Hex);
    const isAffordable = await server
      .estimate({
        address: requirements.asset as Address,
        abi: eip3009ABI,
        functionName: 'transferWithAuthorization',
        args: [from, to, value, validAfter, validBefore, nonce, v || yParity, r, s],
      })
      .then((estimated) => estimated <= gas)
      .catch(() => null);
    if (isAffordable === null) {
      await server.getChainId();
      return { valid: false, reason: 'invalid_exact_evm_transaction_simulation_failed' };
    }
    return isAffordable ? { valid: true } : { valid: false, reason: TOO_COSTLY };
  }

  /** The payer's code may have changed since it was verified. @throws Error before anything is sent. */
  private async affordable(gas: Promise<bigint>): Promise<bigint> {
    const limit = this.gasLimit.getStore();
    if (limit !== undefined && (await gas) > limit) throw new Error(`${TOO_COSTLY}: ${await gas} gas`);
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

interface Server {
  getChainId(): Promise<number>;
  getGasPrice(): Promise<bigint>;
  /** Of the account that pays the gas. */
  getBalance(): Promise<bigint>;
  account: Address;
  estimate(args: object): Promise<bigint>;
}
