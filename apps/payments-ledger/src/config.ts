import {
  choice,
  defineConfig,
  integer,
  optional,
  text,
  url,
  variable,
  type ConfigDefinition,
  type ConfigOf,
} from '@market/runtime';
import bs58 from 'bs58';
import { isAddress, type Address, type Hex } from 'viem';
import { parseSigningKeys } from './books/receipt-signer.js';
import { USDC } from './rails/assets.js';
import { relayDestination, relayRoutes } from './rails/relay/relay-settings.js';
import { isSolana } from './rails/x402/exact-payment.js';
import { cdpSecret, facilitatorOrder, facilitatorProblems } from './rails/x402/facilitator-settings.js';
import { coinPrices, DEFAULT_COIN_PRICES_TEXT } from './rails/x402/settlement-cost.js';
import { knownDomain, tokenDomains } from './rails/x402/token-facts.js';
import { tokenAddresses, x402Chains } from './rails/x402/x402-settings.js';

const signingKeys = text().superRefine((value, context) => {
  try {
    parseSigningKeys(value);
  } catch (error) {
    context.addIssue((error as Error).message);
  }
});

const address = text()
  .refine((value) => isAddress(value), 'must be an EVM address')
  .transform((value) => value as Address);
const privateKey = text()
  .refine((value) => /^0x[0-9a-fA-F]{64}$/.test(value), 'must be 0x and 64 hex digits')
  .transform((value) => value as Hex);

const solanaAddress = text().refine((value) => bs58.decodeUnsafe(value)?.length === 32, 'must be an address of Solana');
const solanaKeyPair = text().transform((value, context): Uint8Array => {
  const bytes = bs58.decodeUnsafe(value);
  if (bytes?.length === 64) return bytes;
  context.addIssue('must be the base58 of 64 bytes, as wallets export a key pair');
  return new Uint8Array();
});

const variables = defineConfig('payments-ledger', {
  feeBps: variable(
    'PAYMENTS_LEDGER_FEE_BPS',
    integer(0, 10_000, 500),
    'marketplace fee in basis points of the gross price; kept on each offer',
  ),
  offerTtlSeconds: variable(
    'PAYMENTS_LEDGER_OFFER_TTL_SECONDS',
    integer(1, 86_400, 900),
    'how long an unpaid offer can be paid',
  ),
  openOffersPerBuyer: variable(
    'PAYMENTS_LEDGER_OPEN_OFFERS_PER_BUYER',
    integer(1, 10_000_000, 1_000),
    'unpaid offers that one account may have open at once',
  ),
  retryWindowSeconds: variable(
    'PAYMENTS_LEDGER_RETRY_WINDOW_SECONDS',
    integer(1, 604_800, 86_400),
    'how long a paid call that was not delivered may be repeated before it is refunded',
  ),
  feeAddress: variable(
    'PAYMENTS_LEDGER_FEE_ADDRESS',
    optional(address),
    'your own EVM address to which sellers pay the fees that they owe; needed while signed payments pay sellers and there is a fee',
  ),
  feeSolanaAddress: variable(
    'PAYMENTS_LEDGER_FEE_SOLANA_ADDRESS',
    optional(solanaAddress),
    'the same on Solana; needed where signed payments are taken on Solana alone',
  ),
  feeCreditLimitMicros: variable(
    'PAYMENTS_LEDGER_FEE_CREDIT_LIMIT_MICROS',
    integer(0, 1_000_000_000_000, 10_000_000),
    'fees in micros that a seller may owe; above that its paid listings leave the market after the days of grace',
  ),
  feeGraceDays: variable(
    'PAYMENTS_LEDGER_FEE_GRACE_DAYS',
    integer(0, 3_650, 14),
    'for how many days a seller may owe more than that',
  ),
  refundGraceDays: variable(
    'PAYMENTS_LEDGER_REFUND_GRACE_DAYS',
    integer(0, 3_650, 7),
    'for how many days a seller may owe a buyer a refund before its paid listings leave the market',
  ),
  sandboxRefundSeconds: variable(
    'PAYMENTS_LEDGER_SANDBOX_REFUND_SECONDS',
    integer(0, 86_400, 60),
    'after how long the sandbox pays a refund by itself',
  ),
  minimumX402Micros: variable(
    'PAYMENTS_LEDGER_MINIMUM_X402_MICROS',
    integer(0, 1_000_000_000, 1_000),
    'least price in micros of a call that is paid by a signed authorization of USDC',
  ),
  defaultRoute: variable(
    'GATEWAY_DEFAULT_ROUTE',
    choice(['supported', 'preferred_currency'], 'supported'),
    "route of a call that names none: supported takes one that a signature pays, or else the listing's currency, or else " +
      'the cheapest; preferred_currency takes the currency of the listing and refuses a price that it cannot carry',
  ),
  sandboxPendingSeconds: variable(
    'PAYMENTS_LEDGER_SANDBOX_PENDING_SECONDS',
    integer(0, 3600, 2),
    'how long a sandbox payment with outcome "pending" takes to become final',
  ),
  x402Chains: variable(
    'PAYMENTS_LEDGER_X402_CHAINS',
    optional(x402Chains),
    'chains on which signed payments of USDC are taken, each with none, one or two RPC servers, ' +
      'as eip155:8453=https://a|https://b,solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp; turns the x402 rail on',
  ),
  x402PayTo: variable(
    'PAYMENTS_LEDGER_X402_PAY_TO',
    choice(['seller', 'operator'], 'seller'),
    "who receives signed payments on EVM chains: the seller's payout wallet, or an address of yours",
  ),
  x402PayToAddress: variable(
    'PAYMENTS_LEDGER_X402_PAY_TO_ADDRESS',
    optional(address),
    'your own EVM address, which signed payments pay where PAYMENTS_LEDGER_X402_PAY_TO is operator; needed then',
  ),
  x402Usdc: variable(
    'PAYMENTS_LEDGER_X402_USDC',
    optional(tokenAddresses),
    "USDC contracts, of 6 decimals, as eip155:31337=0x…, where they are not the issuer's known ones",
  ),
  x402Eip712: variable(
    'PAYMENTS_LEDGER_X402_EIP712',
    optional(tokenDomains),
    'name and version of those contracts in EIP-712, as eip155:31337=USDC:2, where neither the table of x402 nor ' +
      'an RPC server states them',
  ),
  x402CoinPrices: variable(
    'PAYMENTS_LEDGER_X402_COIN_USD',
    text(DEFAULT_COIN_PRICES_TEXT).transform(coinPrices),
    'upper estimates in US dollars of the coins that pay for settlements, as ' +
      'eip155=5000,solana=400,eip155:137=1; a signature is refused if its settlement would cost more than an ' +
      'ordinary one by more than the fee of the sale',
  ),
  x402RpcTimeoutMs: variable(
    'PAYMENTS_LEDGER_X402_RPC_TIMEOUT_MS',
    integer(100, 8_000, 5_000),
    'how long an RPC server may take, and whoever verifies a signed payment',
  ),
  unsettledPerPayer: variable(
    'PAYMENTS_LEDGER_UNSETTLED_PER_PAYER',
    integer(1, 100_000, 10),
    'unsettled calls that one wallet may have at a time where no RPC server reports its balance',
  ),
  facilitatorOrder: variable(
    'PAYMENTS_LEDGER_X402_FACILITATOR_URL',
    optional(facilitatorOrder),
    'x402 facilitators that settle signed payments, in order of preference: URLs, cdp, and own for the key of this ' +
      'process, as cdp,https://a,own; eip155:8453=own|cdp sets the order on one network. Absent, it is cdp if its key ' +
      'is set, otherwise own',
  ),
  facilitatorApiKey: variable(
    'PAYMENTS_LEDGER_X402_FACILITATOR_API_KEY',
    optional(text()),
    'sent to the facilitator as Authorization: Bearer; with several, a list of host=key',
  ),
  cdpApiKeyId: variable(
    'PAYMENTS_LEDGER_X402_CDP_API_KEY_ID',
    optional(text()),
    'id of a secret API key of the Coinbase Developer Platform, whose facilitator needs a token per request',
  ),
  cdpApiKeySecret: variable(
    'PAYMENTS_LEDGER_X402_CDP_API_KEY_SECRET',
    optional(cdpSecret),
    'its secret: the base64 of 64 bytes (Ed25519), or the PEM of an EC key',
  ),
  facilitatorKey: variable(
    'PAYMENTS_LEDGER_X402_FACILITATOR_KEY',
    optional(privateKey),
    'private key that pays the gas when this process settles signed payments itself',
  ),
  facilitatorSolanaKey: variable(
    'PAYMENTS_LEDGER_X402_FACILITATOR_SOLANA_KEY',
    optional(solanaKeyPair),
    'the same on Solana: the key pair that pays the fees, as base58 of 64 bytes',
  ),
  facilitatorTimeoutMs: variable(
    'PAYMENTS_LEDGER_X402_FACILITATOR_TIMEOUT_MS',
    integer(100, 120_000, 30_000),
    'how long a facilitator may take before its answer counts as unknown',
  ),
  relayUrl: variable(
    'PAYMENTS_LEDGER_RELAY_URL',
    optional(url()),
    'Relay that carries payments between chains, https://api.relay.link or https://api.testnets.relay.link; turns the Relay rail on',
  ),
  relayApiKey: variable(
    'PAYMENTS_LEDGER_RELAY_API_KEY',
    optional(text()),
    'API key of Relay; its webhooks are signed with it',
  ),
  relayRoutes: variable(
    'PAYMENTS_LEDGER_RELAY_ROUTES',
    text('eip155:8453:ETH,eip155:42161:USDC,solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:SOL').transform(relayRoutes),
    'what buyers may pay with through Relay, each with its minimum price in US dollars, where that is not $0.10 ' +
      'on EVM chains and $0.01 on Solana: eip155:8453:ETH=0.25,…',
  ),
  relayDestination: variable(
    'PAYMENTS_LEDGER_RELAY_DESTINATION',
    text('eip155:8453:USDC').transform(relayDestination),
    'USDC of the chain where sellers are paid through Relay',
  ),
  relayFeeRecipient: variable(
    'PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT',
    optional(address),
    'EVM address under which the marketplace fee accrues at Relay',
  ),
  relayMaxCostMicros: variable(
    'PAYMENTS_LEDGER_RELAY_MAX_COST_MICROS',
    integer(0, 1_000_000_000, 500_000),
    'the most in micros that Relay may add to a price; a more expensive quote is not offered',
  ),
  relayReferrer: variable(
    'PAYMENTS_LEDGER_RELAY_REFERRER',
    text('agent-marketplace'),
    'how Relay knows our requests; debug-force-refund makes it send every payment back',
  ),
  relayQuotesPerMinute: variable(
    'PAYMENTS_LEDGER_RELAY_QUOTES_PER_MINUTE',
    integer(1, 100_000, 50),
    "quotes that one process asks of Relay in a minute; the key's rate divided by the processes",
  ),
  relayStatusesPerMinute: variable(
    'PAYMENTS_LEDGER_RELAY_STATUSES_PER_MINUTE',
    integer(1, 100_000, 200),
    'the same for looks at a payment; a quarter of either at most for one buyer',
  ),
  relayStatusIntervalMs: variable(
    'PAYMENTS_LEDGER_RELAY_STATUS_INTERVAL_MS',
    integer(0, 60_000, 2_000),
    'how long what Relay said of a payment is repeated, unless its webhook says that it changed',
  ),
  relayTimeoutMs: variable('PAYMENTS_LEDGER_RELAY_TIMEOUT_MS', integer(100, 8_000, 5_000), 'how long Relay may take'),
  signingKeys: variable(
    'PAYMENTS_LEDGER_SIGNING_KEYS',
    signingKeys,
    'Ed25519 keys that receipts are signed with: base64 of 32 random bytes, comma separated; the first signs, all are published',
  ),
  keepUnpaidHours: variable(
    'PAYMENTS_LEDGER_KEEP_UNPAID_HOURS',
    integer(1, 87_600, 6),
    'how long an offer that brought no money is kept after its time',
  ),
  resumeIntervalMs: variable(
    'PAYMENTS_LEDGER_RESUME_INTERVAL_MS',
    integer(50, 600_000, 500),
    'how often settlements of signed payments that a crash left open are looked for',
  ),
  sweepIntervalMs: variable(
    'PAYMENTS_LEDGER_SWEEP_INTERVAL_MS',
    integer(50, 600_000, 5_000),
    'how often expired and undelivered payments and ended subscriptions are looked for',
  ),
  reconcileIntervalMs: variable(
    'PAYMENTS_LEDGER_RECONCILE_INTERVAL_MS',
    integer(50, 86_400_000, 600_000),
    'how long after a settlement it is compared with what the chain or Relay says of it',
  ),
  sampleIntervalMs: variable(
    'PAYMENTS_LEDGER_SAMPLE_INTERVAL_MS',
    integer(50, 3_600_000, 15_000),
    'how often the metrics of open payments and of the books are read from the database',
  ),
});

export type PaymentsLedgerConfig = ConfigOf<typeof variables>;

export const paymentsLedgerConfig: ConfigDefinition<PaymentsLedgerConfig> = {
  ...variables,
  parse(env, problems) {
    const earlier = problems.length;
    const config = variables.parse(env, problems);
    if (problems.length > earlier) return config;
    if (env.PAYMENTS_MODE === 'live' && !config.relayUrl && !config.x402Chains)
      problems.push(
        'PAYMENTS_MODE: live needs a payment rail, and none is turned on; ' +
          'docs/payments.md says how, and PAYMENTS_MODE=sandbox takes play money',
      );
    if (config.x402Chains) problems.push(...x402Problems(config, config.x402Chains));
    if (config.relayUrl) problems.push(...relayProblems(config));
    return config;
  },
};

function x402Problems(
  {
    x402PayTo,
    x402PayToAddress,
    x402Usdc,
    x402Eip712,
    feeBps,
    feeAddress,
    feeSolanaAddress,
    ...config
  }: PaymentsLedgerConfig,
  chains: Map<string, string[]>,
): string[] {
  const problems = facilitatorProblems(config, chains);
  if (x402PayTo === 'operator' && !x402PayToAddress)
    problems.push('PAYMENTS_LEDGER_X402_PAY_TO_ADDRESS: is needed with PAYMENTS_LEDGER_X402_PAY_TO=operator');
  if (x402PayTo === 'seller' && x402PayToAddress)
    problems.push('PAYMENTS_LEDGER_X402_PAY_TO_ADDRESS: is paid with PAYMENTS_LEDGER_X402_PAY_TO=operator alone');
  const paysSellers = [...chains.keys()].filter((network) => x402PayTo === 'seller' || isSolana(network));
  const mayPayFees = [...chains.keys()].some((network) => (isSolana(network) ? feeSolanaAddress : feeAddress));
  if (feeBps > 0 && paysSellers.length > 0 && !mayPayFees) {
    const variable = paysSellers.every(isSolana) ? 'PAYMENTS_LEDGER_FEE_SOLANA_ADDRESS' : 'PAYMENTS_LEDGER_FEE_ADDRESS';
    problems.push(`${variable}: is needed while signed payments pay sellers and there is a marketplace fee`);
  }
  for (const [network, servers] of chains) {
    if (!x402Usdc?.has(network) && !USDC[network])
      problems.push(`PAYMENTS_LEDGER_X402_USDC: names no contract on ${network}, where the issuer's is not known`);
    const usdc = x402Usdc?.get(network) ?? USDC[network];
    if (usdc && !isSolana(network) && servers.length === 0 && !x402Eip712?.has(network) && !knownDomain(network, usdc))
      problems.push(
        `PAYMENTS_LEDGER_X402_EIP712: names no token of ${network}, whose name and version neither x402 nor an RPC server says`,
      );
  }
  return problems;
}

const relayProblems = ({
  relayApiKey,
  relayRoutes,
  relayDestination,
  relayFeeRecipient,
  feeBps,
}: PaymentsLedgerConfig): string[] => [
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
