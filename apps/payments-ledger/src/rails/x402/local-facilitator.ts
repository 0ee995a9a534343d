import { x402Facilitator } from '@x402/core/facilitator';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator';
import { createWalletClient, http, publicActions, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { createNonceManager, jsonRpc } from 'viem/nonce';
import type { ExactPayload, ExactRequirements } from './exact-payment.js';
import { Facilitator, onTheWire, settlementFrom, type Settlement, type Verification } from './facilitator.js';
import type { X402Chain } from './x402-settings.js';

/** Shorter than the blocks of the chains that settle payments. */
const RECEIPT_POLL_MS = 500;

/** The public facilitator packages in this process: no third party between the marketplace and the chains. Each is reached through the first of its servers. */
export class LocalFacilitator extends Facilitator {
  private readonly facilitator = new x402Facilitator();
  private readonly servers = new Map<string, { getChainId(): Promise<number> }>();

  /** @param privateKey pays the gas, and can spend nothing else. */
  constructor(chains: Pick<X402Chain, 'network' | 'chainId' | 'rpcUrls'>[], privateKey: Hex) {
    super();
    for (const { network, chainId, rpcUrls } of chains) {
      const chain = {
        id: chainId,
        name: network,
        nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
        rpcUrls: { default: { http: rpcUrls } },
      };
      // Its own: the one that viem exports goes on counting for another server that serves a chain of the same id, as each test's does.
      const account = privateKeyToAccount(privateKey, { nonceManager: createNonceManager({ source: jsonRpc() }) });
      const client = createWalletClient({
        account,
        chain,
        transport: http(rpcUrls[0]),
        pollingInterval: RECEIPT_POLL_MS,
      }).extend(publicActions);
      this.servers.set(network, client);
      // The packages ask for code ahead of waiting for the answer: a rejection would go unhandled, and end the process.
      const getCode: typeof client.getCode = (args) => client.getCode(args).catch(() => undefined);
      registerExactEvmScheme(this.facilitator, {
        signer: toFacilitatorEvmSigner({ ...client, getCode, address: account.address } as never),
        networks: network as `eip155:${number}`,
      });
    }
  }

  async verify(payload: ExactPayload, requirements: ExactRequirements): Promise<Verification> {
    const { isValid, invalidReason } = await this.facilitator.verify(...onTheWire(payload, requirements));
    // What a server that is away looks like to the packages.
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
