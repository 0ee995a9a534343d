import {
  choice,
  defineConfig,
  integer,
  optional,
  text,
  variable,
  type ConfigDefinition,
  type ConfigOf,
} from '@market/runtime';
import bs58 from 'bs58';
import { isAddress, type Address, type Hex } from 'viem';
import { parseSigningKeys } from './books/receipt-signer.js';
import { evmAddress } from './rails/evm-address.js';
import { relayProblems, relayVariables } from './rails/relay/relay-config.js';
import { isSolana } from './rails/x402/exact-payment.js';
import { cdpSecret, facilitatorOrder, facilitatorProblems } from './rails/x402/facilitator-settings.js';
import { coinPrices, DEFAULT_COIN_PRICES_TEXT } from './rails/x402/settlement-cost.js';
import { isKnownByPermit2, knownDomain, tokenDomains, usdcOn } from './rails/x402/token-facts.js';
import { tokenAddresses, x402Chains } from './rails/x402/x402-settings.js';

/** They deploy Coinbase Smart Wallet 1.1 and 1. Source: github.com/coinbase/smart-wallet. */
const COINBASE_FACTORIES = ['0xBA5ED110eFDBa3D005bfC882d75358ACBbB85842', '0x0BA5ED0c6AA8c49038F819E587E2633c4A9F428a'];

const signingKeys = text().superRefine((value, context) => {
  try {
    parseSigningKeys(value);
  } catch (error) {
    context.addIssue((error as Error).message);
  }
});

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
    'lifetime of an unpaid offer',
  ),
  openOffersPerBuyer: variable(
    'PAYMENTS_LEDGER_OPEN_OFFERS_PER_BUYER',
    integer(1, 10_000_000, 1_000),
    'unpaid offers that one account may have open',
  ),
  retryWindowSeconds: variable(
    'PAYMENTS_LEDGER_RETRY_WINDOW_SECONDS',
    integer(1, 604_800, 86_400),
    'how long a paid call may be repeated before it is refunded',
  ),
  feeAddress: variable(
    'PAYMENTS_LEDGER_FEE_ADDRESS',
    optional(evmAddress),
    'your EVM address to which sellers pay fees that they owe; needed while signed payments pay sellers and ' +
      'there is a fee',
  ),
  feeSolanaAddress: variable(
    'PAYMENTS_LEDGER_FEE_SOLANA_ADDRESS',
    optional(solanaAddress),
    'the same on Solana; needed where signed payments are taken on Solana alone',
  ),
  feeCreditLimitMicros: variable(
    'PAYMENTS_LEDGER_FEE_CREDIT_LIMIT_MICROS',
    integer(0, 1_000_000_000_000, 10_000_000),
    'fees in micros that a seller may owe; above, its paid listings leave the market after the days of grace',
  ),
  feeGraceDays: variable(
    'PAYMENTS_LEDGER_FEE_GRACE_DAYS',
    integer(0, 3_650, 14),
    'days for which a seller may owe more than that',
  ),
  refundGraceDays: variable(
    'PAYMENTS_LEDGER_REFUND_GRACE_DAYS',
    integer(0, 3_650, 7),
    'days for which a seller may owe a refund before its paid listings leave the market',
  ),
  sandboxRefundSeconds: variable(
    'PAYMENTS_LEDGER_SANDBOX_REFUND_SECONDS',
    integer(0, 86_400, 60),
    'delay after which the sandbox pays a refund by itself',
  ),
  minimumX402Micros: variable(
    'PAYMENTS_LEDGER_MINIMUM_X402_MICROS',
    integer(0, 1_000_000_000, 1_000),
    'minimum price in micros of a call that a signature pays',
  ),
  defaultRoute: variable(
    'GATEWAY_DEFAULT_ROUTE',
    choice(['supported', 'preferred_currency'], 'supported'),
    "route of a call that names none: supported is one that a signature pays, else the listing's currency, else " +
      "the cheapest; preferred_currency is the listing's, and refuses a price that it cannot carry",
  ),
  sandboxPendingSeconds: variable(
    'PAYMENTS_LEDGER_SANDBOX_PENDING_SECONDS',
    integer(0, 3600, 2),
    'time until a sandbox payment with outcome "pending" is final',
  ),
  x402Chains: variable(
    'PAYMENTS_LEDGER_X402_CHAINS',
    optional(x402Chains),
    'chains on which signed payments of USDC are taken, each with up to two RPC servers, as ' +
      'eip155:8453=https://a|https://b,solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp; turns the x402 rail on',
  ),
  x402PayTo: variable(
    'PAYMENTS_LEDGER_X402_PAY_TO',
    choice(['seller', 'operator'], 'seller'),
    "who receives signed payments on EVM chains: the seller's payout wallet, or an address of yours",
  ),
  x402PayToAddress: variable(
    'PAYMENTS_LEDGER_X402_PAY_TO_ADDRESS',
    optional(evmAddress),
    'that address; needed where PAYMENTS_LEDGER_X402_PAY_TO is operator',
  ),
  x402Usdc: variable(
    'PAYMENTS_LEDGER_X402_USDC',
    optional(tokenAddresses),
    "USDC contracts, of 6 decimals, as eip155:31337=0x…, where they are not the issuer's known ones",
  ),
  x402Eip712: variable(
    'PAYMENTS_LEDGER_X402_EIP712',
    optional(tokenDomains),
    "their EIP-712 name and version, as eip155:31337=USDC:2, where neither x402's table nor an RPC server states them",
  ),
  x402CoinPrices: variable(
    'PAYMENTS_LEDGER_X402_COIN_USD',
    text(DEFAULT_COIN_PRICES_TEXT).transform(coinPrices),
    'upper estimates in US dollars of the coins that pay for settlements, also by chain (eip155:137=1); a ' +
      "settlement may exceed an ordinary one's cost by the fee of the sale",
  ),
  x402WalletFactories: variable(
    'PAYMENTS_LEDGER_X402_WALLET_FACTORIES',
    text(COINBASE_FACTORIES.join(',')).transform((list, context) => {
      const factories = list.split(',').map((each) => each.trim());
      if (!factories.every((each) => isAddress(each, { strict: false }))) context.addIssue('must be EVM addresses');
      return factories as Address[];
    }),
    "contracts through which an own facilitator may deploy a payer's wallet (EIP-6492); by default Coinbase's",
  ),
  x402RpcTimeoutMs: variable(
    'PAYMENTS_LEDGER_X402_RPC_TIMEOUT_MS',
    integer(100, 8_000, 5_000),
    'timeout of RPC servers, and of the verification of a signed payment',
  ),
  unsettledPerPayer: variable(
    'PAYMENTS_LEDGER_UNSETTLED_PER_PAYER',
    integer(1, 100_000, 10),
    'unsettled calls of one wallet where no RPC server reports its balance',
  ),
  facilitatorOrder: variable(
    'PAYMENTS_LEDGER_X402_FACILITATOR_URL',
    optional(facilitatorOrder),
    'facilitators in order of preference: URLs, cdp, and own for the key of this process, as cdp,https://a,own; ' +
      'eip155:8453=own|cdp is the order on one network; by default cdp if its key is set, otherwise own',
  ),
  facilitatorApiKey: variable(
    'PAYMENTS_LEDGER_X402_FACILITATOR_API_KEY',
    optional(text()),
    'sent to the facilitator as Authorization: Bearer; with several, a list of host=key',
  ),
  cdpApiKeyId: variable(
    'PAYMENTS_LEDGER_X402_CDP_API_KEY_ID',
    optional(text()),
    'id of a secret API key of the Coinbase Developer Platform',
  ),
  cdpApiKeySecret: variable(
    'PAYMENTS_LEDGER_X402_CDP_API_KEY_SECRET',
    optional(cdpSecret),
    'its secret: the base64 of 64 bytes (Ed25519), or the PEM of an EC key',
  ),
  facilitatorKey: variable(
    'PAYMENTS_LEDGER_X402_FACILITATOR_KEY',
    optional(privateKey),
    'private key that pays the gas of an own facilitator',
  ),
  facilitatorSolanaKey: variable(
    'PAYMENTS_LEDGER_X402_FACILITATOR_SOLANA_KEY',
    optional(solanaKeyPair),
    'the same on Solana, a key pair as base58 of 64 bytes',
  ),
  facilitatorTimeoutMs: variable(
    'PAYMENTS_LEDGER_X402_FACILITATOR_TIMEOUT_MS',
    integer(100, 120_000, 30_000),
    'timeout of a facilitator, after which the outcome is unknown',
  ),
  ...relayVariables,
  signingKeys: variable(
    'PAYMENTS_LEDGER_SIGNING_KEYS',
    signingKeys,
    'Ed25519 keys that sign receipts: base64 of 32 random bytes, comma separated; the first signs, all are published',
  ),
  keepUnpaidHours: variable(
    'PAYMENTS_LEDGER_KEEP_UNPAID_HOURS',
    integer(1, 720, 6),
    'how long an unpaid offer is kept after it expired',
  ),
  resumeIntervalMs: variable(
    'PAYMENTS_LEDGER_RESUME_INTERVAL_MS',
    integer(50, 600_000, 500),
    'interval of the job for settlements that a crash left open',
  ),
  sweepIntervalMs: variable(
    'PAYMENTS_LEDGER_SWEEP_INTERVAL_MS',
    integer(50, 600_000, 5_000),
    'interval of the job for expired and undelivered payments and ended subscriptions',
  ),
  reconcileIntervalMs: variable(
    'PAYMENTS_LEDGER_RECONCILE_INTERVAL_MS',
    integer(50, 86_400_000, 600_000),
    'how long after a settlement it is compared with the chain or Relay',
  ),
  checkpointIntervalMs: variable(
    'PAYMENTS_LEDGER_CHECKPOINT_INTERVAL_MS',
    integer(50, 604_800_000, 86_400_000),
    'interval of the checkpoints, each of which verifies what is new in the books',
  ),
  sampleIntervalMs: variable(
    'PAYMENTS_LEDGER_SAMPLE_INTERVAL_MS',
    integer(50, 3_600_000, 15_000),
    'interval at which the metrics of open payments and of the books are read',
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
    if (!x402Usdc?.has(network) && !usdcOn(network))
      problems.push(`PAYMENTS_LEDGER_X402_USDC: names no contract on ${network}, where the issuer's is not known`);
    const usdc = x402Usdc?.get(network) ?? usdcOn(network);
    const isKnown = (asset: string): boolean =>
      x402Eip712?.has(network) === true ||
      knownDomain(network, asset) !== undefined ||
      isKnownByPermit2(network, asset) === true;
    if (usdc && !isSolana(network) && servers.length === 0 && !isKnown(usdc))
      problems.push(
        `PAYMENTS_LEDGER_X402_EIP712: names no token of ${network}, whose name and version neither x402 nor an RPC server says`,
      );
  }
  return problems;
}
