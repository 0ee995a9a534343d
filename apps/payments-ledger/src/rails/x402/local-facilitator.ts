import { x402Facilitator } from '@x402/core/facilitator';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator';
import { createWalletClient, http, publicActions, type Hash, type Hex, type WriteContractParameters } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { createNonceManager, jsonRpc } from 'viem/nonce';
import type { ExactPayload, ExactRequirements } from './exact-payment.js';
import { Facilitator, onTheWire, settlementFrom, type Settlement, type Verification } from './facilitator.js';
import type { X402Chain } from './x402-settings.js';

/** Shorter than the blocks of the chains that settle payments. */
const RECEIPT_POLL_MS = 500;

/**
 * Runs the public facilitator packages in this process, so that no third party stands between the marketplace and the
 * chains. Each chain is reached through the first of its servers.
 */
export class LocalFacilitator extends Facilitator {
  private readonly facilitator = new x402Facilitator();
  private readonly servers = new Map<string, { getChainId(): Promise<number> }>();

  /** @param privateKey the key of the account that pays the gas. It cannot spend anything else. */
  constructor(chains: Pick<X402Chain, 'network' | 'chainId' | 'rpcUrls'>[], privateKey: Hex) {
    super();
    for (const { network, chainId, rpcUrls } of chains) {
      const chain = {
        id: chainId,
        name: network,
        nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
        rpcUrls: { default: { http: rpcUrls } },
      };
      // The nonce manager is a separate one: the one that viem exports would continue to count for another server of a
      // chain with the same id, which occurs in tests.
      const account = privateKeyToAccount(privateKey, { nonceManager: createNonceManager({ source: jsonRpc() }) });
      const client = createWalletClient({
        account,
        chain,
        transport: http(rpcUrls[0]),
        pollingInterval: RECEIPT_POLL_MS,
      }).extend(publicActions);
      this.servers.set(network, client);
      // The packages request the code before they await the answer. An unhandled rejection would end the process.
      const getCode: typeof client.getCode = (args) => client.getCode(args).catch(() => undefined);
      // A transaction that would fail is recognised before it takes a nonce: concurrent ones would wait for that nonce.
      const writeContract = async (args: WriteContractParameters): Promise<Hash> =>
        client.writeContract({
          ...args,
          gas: await client.estimateContractGas({ ...args, account } as never),
        } as never);
      registerExactEvmScheme(this.facilitator, {
        signer: toFacilitatorEvmSigner({ ...client, getCode, writeContract, address: account.address } as never),
        networks: network as `eip155:${number}`,
      });
    }
  }

  async verify(payload: ExactPayload, requirements: ExactRequirements): Promise<Verification> {
    const { isValid, invalidReason } = await this.facilitator.verify(...onTheWire(payload, requirements));
    // The packages report these reasons if the server is unavailable.
    if (invalidReason === 'asset_not_deployed_contract')
      throw new Error(`the RPC server of ${requirements.network} knows of no USDC`);
    if (invalidReason === 'invalid_exact_evm_transaction_simulation_failed')
      await this.servers.get(requirements.network)?.getChainId();
    return isValid ? { valid: true } : { valid: false, reason: invalidReason ?? 'invalid_payload' };
  }

  async settle(payload: ExactPayload, requirements: ExactRequirements): Promise<Settlement> {
    return settlementFrom(await this.facilitator.settle(...onTheWire(payload, requirements)));
  }
}
