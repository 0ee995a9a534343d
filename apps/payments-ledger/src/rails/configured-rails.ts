import type { PaymentsLedgerConfig } from '../config.js';
import { chainsOf, type EvmChainSettings } from './evm/evm-settings.js';
import { EvmRail } from './evm/evm.rail.js';
import type { PaymentRail } from './payment-rail.js';
import type { Facilitator } from './x402/facilitator.js';
import { HttpFacilitator } from './x402/http-facilitator.js';
import { LocalFacilitator } from './x402/local-facilitator.js';

/** The rails that an operator's variables turn on. */
export function configuredRails(config: PaymentsLedgerConfig): PaymentRail[] {
  if (!config.evmXpub || !config.evmRpcUrls) return [];
  const chains = chainsOf(config.evmRpcUrls, config.evmUsdc ?? new Map());
  return [
    new EvmRail({
      extendedPublicKey: config.evmXpub,
      chains,
      minimumMicros: { USDC: BigInt(config.minimumUsdcMicros), ETH: BigInt(config.minimumEthMicros) },
      safeUpToMicros: BigInt(config.evmSafeUpToMicros),
      requestTimeoutMs: config.evmRpcTimeoutMs,
      maxHeadAgeSeconds: config.evmMaxHeadAgeSeconds,
      facilitator: facilitatorOf(config, chains),
    }),
  ];
}

function facilitatorOf(config: PaymentsLedgerConfig, chains: EvmChainSettings[]): Facilitator | undefined {
  if (config.facilitatorUrl) return new HttpFacilitator({ url: config.facilitatorUrl, apiKey: config.facilitatorApiKey, timeoutMs: config.facilitatorTimeoutMs });
  return config.facilitatorKey ? new LocalFacilitator(chains, config.facilitatorKey) : undefined;
}
