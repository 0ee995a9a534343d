import type { MessageBus } from '@market/messaging';
import type { PaymentsLedgerConfig } from '../config.js';
import type { PaymentRail } from './payment-rail.js';
import { RelayRail } from './relay/relay.rail.js';
import type { SellerWallets } from './seller-wallets.js';
import type { Facilitator } from './x402/facilitator.js';
import { HttpFacilitator } from './x402/http-facilitator.js';
import { LocalFacilitator } from './x402/local-facilitator.js';
import { X402Rail } from './x402/x402.rail.js';
import { chainsOf, type X402Chain } from './x402/x402-settings.js';

/** The rails that an operator's variables turn on. */
export const configuredRails = (
  config: PaymentsLedgerConfig,
  bus: MessageBus,
  sellers: SellerWallets,
): PaymentRail[] => [...x402Rails(config, sellers), ...relayRails(config, bus)];

function x402Rails(config: PaymentsLedgerConfig, sellers: SellerWallets): PaymentRail[] {
  const { x402Chains, minimumX402Micros, x402RpcTimeoutMs: requestTimeoutMs } = config;
  const payTo = config.x402PayTo === 'seller' ? sellers : config.x402PayToAddress;
  if (!x402Chains || !payTo) return [];
  const chains = chainsOf(x402Chains, config.x402Usdc);
  const facilitator = facilitatorOf(config, chains);
  return facilitator
    ? [new X402Rail({ payTo, chains, minimumMicros: BigInt(minimumX402Micros), facilitator, requestTimeoutMs })]
    : [];
}

function facilitatorOf(config: PaymentsLedgerConfig, chains: X402Chain[]): Facilitator | undefined {
  if (config.facilitatorUrl)
    return new HttpFacilitator({
      url: config.facilitatorUrl,
      apiKey: config.facilitatorApiKey,
      timeoutMs: config.facilitatorTimeoutMs,
    });
  return config.facilitatorKey ? new LocalFacilitator(chains, config.facilitatorKey) : undefined;
}

/** Last: a transfer between two wallets of one chain costs less than one that is carried. */
function relayRails(config: PaymentsLedgerConfig, bus: MessageBus): PaymentRail[] {
  const {
    relayUrl: url,
    relayApiKey: apiKey,
    relayRoutes: routes,
    relayDestination: destination,
    relayFeeRecipient: feeRecipient,
  } = config;
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
