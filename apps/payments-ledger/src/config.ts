import { choice, defineConfig, integer, optional, text, url, variable, type ConfigDefinition, type ConfigOf } from '@market/runtime';
import { HDKey } from 'viem/accounts';
import { isAddress, type Hex } from 'viem';
import { parseSigningKeys } from './books/receipt-signer.js';
import { rpcUrls, tokenAddresses } from './rails/evm/evm-settings.js';
import { priceSetting } from './rails/prices/price-settings.js';
import { relayDestination, relayRoutes } from './rails/relay/relay-settings.js';
import { solanaAddress, solanaMints, solanaRpcUrls, solanaSeed } from './rails/solana/solana-settings.js';

const signingKeys = text().superRefine((value, context) => {
  try {
    parseSigningKeys(value);
  } catch (error) {
    context.addIssue((error as Error).message);
  }
});

const xpub = text().refine((value) => {
  try {
    return HDKey.fromExtendedKey(value).privateKey === null;
  } catch {
    return false;
  }
}, 'must be an extended public key, and no private one');
const privateKey = text()
  .refine((value) => /^0x[0-9a-fA-F]{64}$/.test(value), 'must be 0x and 64 hex digits')
  .transform((value) => value as Hex);

const variables = defineConfig('payments-ledger', {
  feeBps: variable('PAYMENTS_LEDGER_FEE_BPS', integer(0, 10_000, 500), 'marketplace fee in basis points of the gross price; kept on each offer'),
  offerTtlSeconds: variable('PAYMENTS_LEDGER_OFFER_TTL_SECONDS', integer(1, 86_400, 900), 'how long an unpaid offer can be paid'),
  retryWindowSeconds: variable('PAYMENTS_LEDGER_RETRY_WINDOW_SECONDS', integer(1, 604_800, 86_400), 'how long a paid call that was not delivered may be repeated before it is refunded'),
  minimumUsdcMicros: variable('PAYMENTS_LEDGER_MINIMUM_USDC_MICROS', integer(0, 1_000_000_000, 100_000), 'least price in micros that the USDC route carries'),
  minimumEthMicros: variable('PAYMENTS_LEDGER_MINIMUM_ETH_MICROS', integer(0, 1_000_000_000, 100_000), 'least price in micros that the ETH route carries'),
  minimumSolMicros: variable('PAYMENTS_LEDGER_MINIMUM_SOL_MICROS', integer(0, 1_000_000_000, 0), 'least price in micros that the SOL route carries'),
  minimumExactMicros: variable('PAYMENTS_LEDGER_MINIMUM_X402_MICROS', integer(0, 1_000_000_000, 1_000), 'least price in micros of a call that is paid without a key, by a signed authorization of USDC'),
  defaultRoute: variable('GATEWAY_DEFAULT_ROUTE', choice(['supported', 'preferred_currency'], 'supported'), "route of a call that names none: supported takes the cheapest where the listing's currency cannot carry the price; preferred_currency insists on it"),
  priceEth: variable('PAYMENTS_LEDGER_PRICE_ETH', text('fixed:3000').transform(priceSetting), 'where the price of one ETH in US dollars comes from: fixed:3000.00, chainlink:eip155:1:0x… (an aggregator) or http:https://host/path#/pointer/to/price,/pointer/to/time (the time may be left out)'),
  priceSol: variable('PAYMENTS_LEDGER_PRICE_SOL', text('fixed:150').transform(priceSetting), 'the same of one SOL'),
  priceRpcUrls: variable('PAYMENTS_LEDGER_PRICE_RPC_URLS', optional(rpcUrls), 'chains of aggregators as eip155:1=https://a|https://b,…, the second server where the first does not answer; where absent, those of the EVM rail'),
  priceMaxAgeSeconds: variable('PAYMENTS_LEDGER_PRICE_MAX_AGE_SECONDS', integer(1, 172_800, 3_900), "age beyond which a price is not quoted from; longer than an aggregator's heartbeat"),
  priceRefreshSeconds: variable('PAYMENTS_LEDGER_PRICE_REFRESH_SECONDS', integer(1, 86_400, 60), 'how often prices are read anew'),
  priceTimeoutMs: variable('PAYMENTS_LEDGER_PRICE_TIMEOUT_MS', integer(100, 8_000, 2_000), 'how long the source of a price may take'),
  sandboxPendingSeconds: variable('PAYMENTS_LEDGER_SANDBOX_PENDING_SECONDS', integer(0, 3600, 2), 'how long a sandbox payment with outcome "pending" takes to become final'),
  evmXpub: variable('PAYMENTS_LEDGER_EVM_XPUB', optional(xpub), 'extended public key (BIP-32) below which each on-chain offer gets its deposit address; turns the EVM rail on'),
  evmRpcUrls: variable('PAYMENTS_LEDGER_EVM_RPC_URLS', optional(rpcUrls), 'chains of the EVM rail as eip155:8453=https://a|https://b,…; two servers of a chain must agree before money is credited'),
  evmUsdc: variable('PAYMENTS_LEDGER_EVM_USDC', optional(tokenAddresses), 'USDC contracts, of 6 decimals, as eip155:31337=0x…, where they are not the issuer\'s known ones'),
  evmSafeUpToMicros: variable('PAYMENTS_LEDGER_EVM_SAFE_UP_TO_MICROS', integer(0, 1_000_000_000, 0), 'price in micros up to which a transfer is believed at the safe block; beyond it at the finalized one'),
  evmRpcTimeoutMs: variable('PAYMENTS_LEDGER_EVM_RPC_TIMEOUT_MS', integer(100, 60_000, 5_000), 'how long an RPC server may take'),
  evmMaxHeadAgeSeconds: variable('PAYMENTS_LEDGER_EVM_MAX_HEAD_AGE_SECONDS', integer(1, 86_400, 300), 'age of its newest block beyond which an RPC server is not believed'),
  solanaSeed: variable('PAYMENTS_LEDGER_SOLANA_SEED', optional(solanaSeed), 'seed (64 to 128 hex digits) below which each offer on Solana gets its deposit address; it spends what is paid there; turns the Solana rail on'),
  solanaRpcUrls: variable('PAYMENTS_LEDGER_SOLANA_RPC_URLS', optional(solanaRpcUrls), 'chains of the Solana rail as solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp=https://a|https://b,…; two servers of a chain must agree before money is credited'),
  solanaUsdc: variable('PAYMENTS_LEDGER_SOLANA_USDC', optional(solanaMints), "mints of USDC as solana:…=<mint>, where they are not the issuer's known ones"),
  solanaReceiver: variable('PAYMENTS_LEDGER_SOLANA_RECEIVER', optional(solanaAddress), "your own account, that exists, for offers of less SOL than a new address must hold; transfers to it name the offer; where absent, such offers are not made"),
  solanaRpcTimeoutMs: variable('PAYMENTS_LEDGER_SOLANA_RPC_TIMEOUT_MS', integer(100, 60_000, 5_000), 'how long an RPC server of Solana may take'),
  solanaMaxHeadAgeSeconds: variable('PAYMENTS_LEDGER_SOLANA_MAX_HEAD_AGE_SECONDS', integer(1, 86_400, 120), 'age of its newest state beyond which an RPC server of Solana is not believed'),
  relayUrl: variable('PAYMENTS_LEDGER_RELAY_URL', optional(url()), 'Relay that carries payments between chains, https://api.relay.link or https://api.testnets.relay.link; turns the Relay rail on'),
  relayApiKey: variable('PAYMENTS_LEDGER_RELAY_API_KEY', optional(text()), 'API key of Relay; its webhooks are signed with it'),
  relayRoutes: variable(
    'PAYMENTS_LEDGER_RELAY_ROUTES',
    text('eip155:8453:ETH,eip155:42161:USDC,solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:SOL').transform(relayRoutes),
    'what buyers may pay with through Relay, each with the least price in US dollars where it is not $0.10 on EVM chains and $0.01 on Solana: eip155:8453:ETH=0.25,…',
  ),
  relayDestination: variable('PAYMENTS_LEDGER_RELAY_DESTINATION', text('eip155:8453:USDC').transform(relayDestination), 'USDC of the chain where sellers are paid through Relay'),
  relayFeeRecipient: variable('PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT', optional(text().refine((value) => isAddress(value), 'must be an EVM address')), 'EVM address under which the marketplace fee accrues at Relay'),
  relayMaxCostMicros: variable('PAYMENTS_LEDGER_RELAY_MAX_COST_MICROS', integer(0, 1_000_000_000, 500_000), 'the most in micros that Relay may add to a price; what costs more is not offered'),
  relayReferrer: variable('PAYMENTS_LEDGER_RELAY_REFERRER', text('agent-marketplace'), 'how Relay knows our requests; debug-force-refund makes it send every payment back'),
  relayQuotesPerMinute: variable('PAYMENTS_LEDGER_RELAY_QUOTES_PER_MINUTE', integer(1, 100_000, 50), "quotes that one process asks of Relay in any minute; the key's rate divided by the processes"),
  relayStatusesPerMinute: variable('PAYMENTS_LEDGER_RELAY_STATUSES_PER_MINUTE', integer(1, 100_000, 200), 'the same for looks at a payment'),
  relayTimeoutMs: variable('PAYMENTS_LEDGER_RELAY_TIMEOUT_MS', integer(100, 8_000, 5_000), 'how long Relay may take'),
  facilitatorUrl: variable('PAYMENTS_LEDGER_X402_FACILITATOR_URL', optional(url()), 'x402 facilitator that settles signed USDC payments of the EVM rail'),
  facilitatorApiKey: variable('PAYMENTS_LEDGER_X402_FACILITATOR_API_KEY', optional(text()), 'sent to the facilitator as Authorization: Bearer'),
  facilitatorKey: variable('PAYMENTS_LEDGER_X402_FACILITATOR_KEY', optional(privateKey), 'private key that pays the gas when this process settles signed payments itself; instead of a facilitator URL'),
  facilitatorTimeoutMs: variable('PAYMENTS_LEDGER_X402_FACILITATOR_TIMEOUT_MS', integer(100, 120_000, 30_000), 'how long a facilitator may take before its answer counts as unknown'),
  signingKeys: variable('PAYMENTS_LEDGER_SIGNING_KEYS', signingKeys, 'Ed25519 keys that receipts are signed with: base64 of 32 random bytes, comma separated; the first signs, all are published'),
  keepUnpaidDays: variable('PAYMENTS_LEDGER_KEEP_UNPAID_DAYS', integer(1, 3650, 30), 'how long an offer that brought no money is kept after its time'),
  lateMoneyDays: variable('PAYMENTS_LEDGER_LATE_MONEY_DAYS', integer(1, 365, 7), 'how long after its time the deposit address of an on-chain offer is looked at again, at widening intervals; what came is owed back'),
  sweepIntervalMs: variable('PAYMENTS_LEDGER_SWEEP_INTERVAL_MS', integer(50, 600_000, 5_000), 'how often expired and undelivered payments and ended subscriptions are looked for'),
});

export type PaymentsLedgerConfig = ConfigOf<typeof variables>;

export const paymentsLedgerConfig: ConfigDefinition<PaymentsLedgerConfig> = {
  ...variables,
  parse(env, problems) {
    const earlier = problems.length;
    const config = variables.parse(env, problems);
    if (problems.length > earlier) return config;
    if (env.PAYMENTS_MODE === 'live' && !hasRail(config)) problems.push('PAYMENTS_MODE: live needs a payment rail, and none is turned on; docs/payments.md says how, and PAYMENTS_MODE=sandbox takes play money');
    if (config.relayUrl) problems.push(...relayProblems(config));
    // A price that nobody chose sells for too much or too little, and nothing else would tell.
    const unpriced = [config.evmXpub && 'PAYMENTS_LEDGER_PRICE_ETH', config.solanaSeed && 'PAYMENTS_LEDGER_PRICE_SOL'].filter((name) => name && !env[name]);
    if (env.PAYMENTS_MODE === 'live') for (const name of unpriced) problems.push(`${name}: must be set where the coin is taken with PAYMENTS_MODE=live; its default is for trying out`);
    return config;
  },
};

/** Whether the operator's variables turn a rail on; what they lack beyond that is said of each. */
const hasRail = ({ relayUrl, evmXpub, evmRpcUrls, solanaSeed, solanaRpcUrls }: PaymentsLedgerConfig): boolean => relayUrl !== undefined || (evmXpub && evmRpcUrls) !== undefined || (solanaSeed && solanaRpcUrls) !== undefined;

const relayProblems = ({ relayApiKey, relayRoutes, relayDestination, relayFeeRecipient, feeBps }: PaymentsLedgerConfig): string[] => [
  ...(relayApiKey ? [] : ['PAYMENTS_LEDGER_RELAY_API_KEY: is needed with PAYMENTS_LEDGER_RELAY_URL']),
  ...(relayFeeRecipient || feeBps === 0 ? [] : ['PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: is needed with PAYMENTS_LEDGER_RELAY_URL while there is a marketplace fee']),
  ...(relayRoutes.some(({ network, currency }) => network === relayDestination.network && currency === relayDestination.currency) ? ['PAYMENTS_LEDGER_RELAY_ROUTES: names PAYMENTS_LEDGER_RELAY_DESTINATION, and Relay takes no fee for us of a plain transfer'] : []),
];
