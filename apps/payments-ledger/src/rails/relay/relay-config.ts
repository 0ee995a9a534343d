import { integer, optional, text, url, variable } from '@market/runtime';
import { evmAddress } from '../evm-address.js';
import { relayDestination, relayRoutes, type RelayAsset, type RelayRoute } from './relay-settings.js';

/** The variables of the Relay rail, as part of those of the ledger. */
export const relayVariables = {
  relayUrl: variable(
    'PAYMENTS_LEDGER_RELAY_URL',
    optional(url()),
    'https://api.relay.link or https://api.testnets.relay.link; turns the Relay rail on',
  ),
  relayApiKey: variable(
    'PAYMENTS_LEDGER_RELAY_API_KEY',
    optional(text()),
    'API key of Relay; its webhooks are signed with it',
  ),
  relayRoutes: variable(
    'PAYMENTS_LEDGER_RELAY_ROUTES',
    text('eip155:8453:ETH,eip155:42161:USDC,solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:SOL').transform(relayRoutes),
    'what buyers may pay with through Relay, with a minimum price in US dollars where that is not $0.10 on EVM ' +
      'chains and $0.01 on Solana: eip155:8453:ETH=0.25,…',
  ),
  relayDestination: variable(
    'PAYMENTS_LEDGER_RELAY_DESTINATION',
    text('eip155:8453:USDC').transform(relayDestination),
    'USDC of the chain where sellers are paid through Relay',
  ),
  relayFeeRecipient: variable(
    'PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT',
    optional(evmAddress),
    'EVM address under which the marketplace fee accrues at Relay',
  ),
  relayMaxCostMicros: variable(
    'PAYMENTS_LEDGER_RELAY_MAX_COST_MICROS',
    integer(0, 1_000_000_000, 500_000),
    'micros that Relay may add to a price; a more expensive quote is not offered',
  ),
  relayReferrer: variable(
    'PAYMENTS_LEDGER_RELAY_REFERRER',
    text('agent-marketplace'),
    'referrer in requests to Relay; debug-force-refund makes it return every payment',
  ),
  relayQuotesPerMinute: variable(
    'PAYMENTS_LEDGER_RELAY_QUOTES_PER_MINUTE',
    integer(1, 100_000, 50),
    "quotes of one process in a minute: the key's rate divided by the processes",
  ),
  relayStatusesPerMinute: variable(
    'PAYMENTS_LEDGER_RELAY_STATUSES_PER_MINUTE',
    integer(1, 100_000, 200),
    'the same for looks at a payment; one buyer gets a quarter of either',
  ),
  relayStatusIntervalMs: variable(
    'PAYMENTS_LEDGER_RELAY_STATUS_INTERVAL_MS',
    integer(0, 60_000, 2_000),
    "how long Relay's answer on a payment is cached, unless its webhook says that it changed",
  ),
  relayTimeoutMs: variable('PAYMENTS_LEDGER_RELAY_TIMEOUT_MS', integer(100, 8_000, 5_000), 'timeout of Relay'),
};

interface RelayValues {
  relayApiKey: string | undefined;
  relayRoutes: RelayRoute[];
  relayDestination: RelayAsset;
  relayFeeRecipient: string | undefined;
  feeBps: number;
}

/** What is wrong with the variables together. */
export const relayProblems = ({
  relayApiKey,
  relayRoutes,
  relayDestination,
  relayFeeRecipient,
  feeBps,
}: RelayValues): string[] => [
  ...(relayApiKey ? [] : ['PAYMENTS_LEDGER_RELAY_API_KEY: is needed with PAYMENTS_LEDGER_RELAY_URL']),
  ...(relayFeeRecipient || feeBps === 0
    ? []
    : [
        'PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: is needed with PAYMENTS_LEDGER_RELAY_URL while there is a marketplace fee',
      ]),
  ...(relayRoutes.some(
    ({ network, currency }) => network === relayDestination.network && currency === relayDestination.currency,
  )
    ? [
        'PAYMENTS_LEDGER_RELAY_ROUTES: names PAYMENTS_LEDGER_RELAY_DESTINATION, and Relay takes no fee for us of a plain transfer',
      ]
    : []),
];
