import { x402Facilitator } from '@x402/core/facilitator';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator';
import { createWalletClient, http, publicActions, type Hex } from 'viem';
import { nonceManager, privateKeyToAccount } from 'viem/accounts';
import type { ExactPayload, ExactRequirements } from './exact-payment.js';
import { Facilitator, onTheWire, settlementFrom, type Settlement, type Verification } from './facilitator.js';
import type { X402Chain } from './x402-settings.js';

/** Shorter than the blocks of the chains that settle payments. */
const RECEIPT_POLL_MS = 500;

/** The public facilitator packages in this process: no third party between the marketplace and the chains. Each is reached through the first of its servers. */
export class LocalFacilitator extends Facilitator {
  private readonly facilitator = new x402Facilitator();

  /** @param privateKey pays the gas, and can spend nothing else. */
  constructor(chains: Pick<X402Chain, 'network' | 'chainId' | 'rpcUrls'>[], privateKey: Hex) {
    super();
    for (const { network, chainId, rpcUrls } of chains) {
      const chain = { id: chainId, name: network, nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 }, rpcUrls: { default: { http: rpcUrls } } };
      const account = privateKeyToAccount(privateKey, { nonceManager });
      const client = createWalletClient({ account, chain, transport: http(rpcUrls[0]), pollingInterval: RECEIPT_POLL_MS }).extend(publicActions);
      registerExactEvmScheme(this.facilitator, { signer: toFacilitatorEvmSigner(Object.assign(client, { address: account.address }) as never), networks: network as `eip155:${number}` });
    }
  }

  async verify(payload: ExactPayload, requirements: ExactRequirements): Promise<Verification> {
    const { isValid, invalidReason } = await this.facilitator.verify(...onTheWire(payload, requirements));
    return isValid ? { valid: true } : { valid: false, reason: invalidReason ?? 'invalid_payload' };
  }

  async settle(payload: ExactPayload, requirements: ExactRequirements): Promise<Settlement> {
    return settlementFrom(await this.facilitator.settle(...onTheWire(payload, requirements)));
  }
}
