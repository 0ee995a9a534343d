import type { MessageBus } from '@market/messaging';
import type { PaymentsLedgerConfig } from '../config.js';
import { chainsOf, type EvmChainSettings } from './evm/evm-settings.js';
import { EvmRail } from './evm/evm.rail.js';
import type { PaymentRail } from './payment-rail.js';
import { RelayRail } from './relay/relay.rail.js';
import { solanaChainsOf } from './solana/solana-settings.js';
import { SolanaRail } from './solana/solana.rail.js';
import type { Facilitator } from './x402/facilitator.js';
import { HttpFacilitator } from './x402/http-facilitator.js';
import { LocalFacilitator } from './x402/local-facilitator.js';

/** The rails that an operator's variables turn on. */
export const configuredRails = (config: PaymentsLedgerConfig, bus: MessageBus): PaymentRail[] => [...evmRails(config), ...solanaRails(config), ...relayRails(config, bus)];

function evmRails(config: PaymentsLedgerConfig): PaymentRail[] {
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

function solanaRails(config: PaymentsLedgerConfig): PaymentRail[] {
  if (!config.solanaSeed || !config.solanaRpcUrls) return [];
  return [
    new SolanaRail({
      seed: config.solanaSeed,
      receiver: config.solanaReceiver,
      chains: solanaChainsOf(config.solanaRpcUrls, config.solanaUsdc ?? new Map()),
      minimumMicros: { USDC: BigInt(config.minimumUsdcMicros), SOL: BigInt(config.minimumSolMicros) },
      requestTimeoutMs: config.solanaRpcTimeoutMs,
      maxHeadAgeSeconds: config.solanaMaxHeadAgeSeconds,
    }),
  ];
}

/** Last: a transfer between two wallets of one chain costs less than one that is carried. */
function relayRails(config: PaymentsLedgerConfig, bus: MessageBus): PaymentRail[] {
  const { relayUrl: url, relayApiKey: apiKey, relayRoutes: routes, relayDestination: destination, relayFeeRecipient: feeRecipient } = config;
  if (!url || !apiKey) return [];
  return [
    new RelayRail(
      {
        url,
        apiKey,
        routes,
        destination,
        feeRecipient,
        referrer: config.relayReferrer,
        ttlSeconds: config.offerTtlSeconds,
        mostCostMicros: BigInt(config.relayMaxCostMicros),
        quotesPerMinute: config.relayQuotesPerMinute,
        statusesPerMinute: config.relayStatusesPerMinute,
        timeoutMs: config.relayTimeoutMs,
      },
      bus,
    ),
  ];
}

function facilitatorOf(config: PaymentsLedgerConfig, chains: EvmChainSettings[]): Facilitator | undefined {
  if (config.facilitatorUrl) return new HttpFacilitator({ url: config.facilitatorUrl, apiKey: config.facilitatorApiKey, timeoutMs: config.facilitatorTimeoutMs });
  return config.facilitatorKey ? new LocalFacilitator(chains, config.facilitatorKey) : undefined;
}
