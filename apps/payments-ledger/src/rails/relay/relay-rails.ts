import type { MessageBus } from '@market/messaging';
import type { PaymentsLedgerConfig } from '../../config.js';
import type { PaymentRail } from '../payment-rail.js';
import { RelayRail } from './relay.rail.js';

/** Returns the rail, if the operator's variables enable it. */
export function relayRails(config: PaymentsLedgerConfig, bus: MessageBus): PaymentRail[] {
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
        statusIntervalMs: config.relayStatusIntervalMs,
        timeoutMs: config.relayTimeoutMs,
      },
      bus,
    ),
  ];
}
