import { rpcServerCheck, type Check } from '@market/runtime';
import { createSolanaRpc, type Address } from '@solana/kit';
import { createPublicClient, http } from 'viem';
import type { PaymentsLedgerConfig } from '../config.js';
import { configuredFacilitators } from './x402/configured-facilitators.js';
import type { Facilitator } from './x402/facilitator.js';
import { HttpFacilitator, UnusableAnswerError } from './x402/http-facilitator.js';
import { LocalFacilitator } from './x402/local-facilitator.js';
import { readToken } from './x402/token-facts.js';
import {
  evmChainsOf,
  solanaChainsOf,
  unwatched,
  unwatchedChains,
  type SolanaChain,
  type X402Chain,
} from './x402/x402-settings.js';

const TIMEOUT_MS = 5_000;
const USDC_DECIMALS = 6;
const URLS = 'PAYMENTS_LEDGER_X402_FACILITATOR_URL';
const TOKEN_DOMAINS = 'PAYMENTS_LEDGER_X402_EIP712';
/** Below this many settlements, an account should be refilled. */
const LOW_RESERVE = 500;

/** Checks the external services of the configured rails: RPC servers, the facilitator and Relay. */
export const railChecks = (config: PaymentsLedgerConfig): Check[] => {
  const chains = evmChainsOf(config.x402Chains ?? new Map<string, string[]>(), config.x402Usdc, config.x402Eip712);
  const clusters = solanaChainsOf(config.x402Chains ?? new Map<string, string[]>());
  return [
    ...chains.flatMap(({ chainId, usdc, rpcUrls }) =>
      rpcUrls.map((url) =>
        rpcServerCheck({
          variable: 'PAYMENTS_LEDGER_X402_CHAINS',
          url,
          chainId,
          token: { address: usdc, decimals: USDC_DECIMALS, variable: 'PAYMENTS_LEDGER_X402_USDC' },
        }),
      ),
    ),
    ...chains.flatMap((chain) => chain.rpcUrls.map((url) => tokenCheck(chain, url))),
    ...unwatchedChains(config).map((network) => ({
      variable: 'PAYMENTS_LEDGER_X402_CHAINS',
      subject: `RPC server of ${network}`,
      warning: unwatched(network),
      problems: () => Promise.resolve([]),
    })),
    ...clusters.flatMap(({ network, usdc, rpcUrls }) => rpcUrls.map((url) => clusterCheck(url, network, usdc))),
    ...(config.x402Chains ? facilitatorChecks(config, chains, clusters) : []),
    ...(config.relayUrl ? [relayCheck(config.relayUrl, config)] : []),
  ];
};

const tokenCheck = (chain: X402Chain, url: string): Check => ({
  variable: TOKEN_DOMAINS,
  subject: `name and version of USDC on ${chain.network} at ${new URL(url).host}`,
  async problems() {
    const server = createPublicClient({ transport: http(url, { timeout: TIMEOUT_MS, retryCount: 0 }) });
    // Another check says that there is no token, or one with other decimals.
    if (!(await server.getCode({ address: chain.usdc }))) return [];
    const { domain, byPermit2, problems } = await readToken(chain, server);
    if (problems.some((problem) => !problem.startsWith(TOKEN_DOMAINS))) return [];
    return domain || byPermit2
      ? problems
      : [`${TOKEN_DOMAINS}: names no token of ${chain.network}, and its contract does not say its name`];
  },
});

/** A cluster is identified by its genesis hash. The CAIP-2 id contains the first 32 characters of the hash. */
const clusterCheck = (url: string, network: string, usdc: string): Check => ({
  variable: 'PAYMENTS_LEDGER_X402_CHAINS',
  subject: `RPC server ${new URL(url).host}`,
  async problems() {
    const server = createSolanaRpc(url);
    const timeout = { abortSignal: AbortSignal.timeout(TIMEOUT_MS) };
    const genesis = await server.getGenesisHash().send(timeout);
    if (network !== `solana:${genesis.slice(0, 32)}`)
      return [`PAYMENTS_LEDGER_X402_CHAINS: what answers there serves the cluster ${genesis}, not ${network}`];
    const { value } = await server.getAccountInfo(usdc as Address, { encoding: 'base64' }).send(timeout);
    return value ? [] : [`PAYMENTS_LEDGER_X402_CHAINS: the server of ${network} knows of no USDC`];
  },
});

/** The account of the key pays for settlements. */
const reserveCheck = (variable: string, facilitator: Facilitator): Check => ({
  variable,
  subject: 'the account that pays for settlements',
  problems: async () =>
    (await facilitator.readReserves())
      .filter(({ settlements }) => settlements < LOW_RESERVE)
      .map(
        ({ network, account, settlements }) =>
          `${variable}: ${account} can pay for ${settlements} more settlements on ${network}; send it some of the chain's coin`,
      ),
});

function facilitatorChecks(config: PaymentsLedgerConfig, chains: X402Chain[], clusters: SolanaChain[]): Check[] {
  const { orders } = configuredFacilitators(config, chains, clusters);
  return [...new Set([...orders.values()].flat())].flatMap((facilitator) => {
    if (facilitator instanceof HttpFacilitator) return [facilitatorCheck(facilitator, orders)];
    const variable = `PAYMENTS_LEDGER_X402_FACILITATOR_${facilitator instanceof LocalFacilitator ? '' : 'SOLANA_'}KEY`;
    return [reserveCheck(variable, facilitator)];
  });
}

/** A facilitator lists what it settles at `GET /supported`. A network is looked at with the last of its facilitators. */
const facilitatorCheck = (facilitator: HttpFacilitator, orders: Map<string, Facilitator[]>): Check => ({
  variable: URLS,
  subject: `facilitator ${facilitator.id}`,
  async problems() {
    try {
      await facilitator.readSupported();
    } catch (error) {
      if (!(error instanceof UnusableAnswerError)) throw error;
      return error.status === 401 || error.status === 403
        ? [`${facilitator.keyVariable}: the facilitator refuses it (${error.status})`]
        : [`${URLS}: what answers there (${error.status}) is no x402 facilitator`];
    }
    const last = [...orders].filter(([, order]) => order.at(-1) === facilitator);
    const problems = await Promise.all(
      last.map(async ([network, order]) => {
        await Promise.all(order.map((each) => each.readReserves()));
        if (order.some((each) => each.problemOn(network) === undefined)) return [];
        const who = order.length > 1 ? 'none of its facilitators settles' : 'the facilitator does not settle';
        return [`${URLS}: ${who} exact payments on ${network}`];
      }),
    );
    return problems.flat();
  },
});

/** Relay lists the chains that it serves without authentication. Source: docs.relay.link, "Get Chains". */
const relayCheck = (url: string, { relayApiKey, relayDestination }: PaymentsLedgerConfig): Check => ({
  variable: 'PAYMENTS_LEDGER_RELAY_URL',
  subject: `Relay ${new URL(url).host}`,
  async problems() {
    const answer = await get(`${url.replace(/\/$/, '')}/chains`, relayApiKey ? { 'x-api-key': relayApiKey } : {});
    if (answer.status === 401 || answer.status === 403)
      return [`PAYMENTS_LEDGER_RELAY_API_KEY: Relay refuses it (${answer.status})`];
    const { chains } = (answer.body ?? {}) as { chains?: { id: number }[] };
    if (!Array.isArray(chains))
      return [`PAYMENTS_LEDGER_RELAY_URL: what answers there (${answer.status}) is not Relay`];
    const { network } = relayDestination;
    return chains.some(({ id }) => `eip155:${id}` === network)
      ? []
      : [`PAYMENTS_LEDGER_RELAY_DESTINATION: Relay does not serve ${network}`];
  },
});

async function get(url: string, headers: Record<string, string>): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) });
  return { status: response.status, body: await response.json().catch(() => null) };
}
