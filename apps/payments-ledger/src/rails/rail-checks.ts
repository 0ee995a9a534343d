import { rpcServerCheck, type Check } from '@market/runtime';
import { createSolanaRpc, type Address } from '@solana/kit';
import type { PaymentsLedgerConfig } from '../config.js';
import { evmChainsOf, solanaChainsOf } from './x402/x402-settings.js';

const TIMEOUT_MS = 5_000;
const USDC_DECIMALS = 6;

/** Checks the external services of the configured rails: RPC servers, the facilitator and Relay. */
export const railChecks = (config: PaymentsLedgerConfig): Check[] => {
  const chains = evmChainsOf(config.x402Chains ?? new Map<string, string[]>(), config.x402Usdc);
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
    ...clusters.flatMap(({ network, usdc, rpcUrls }) => rpcUrls.map((url) => clusterCheck(url, network, usdc))),
    ...(config.facilitatorUrl && config.x402Chains
      ? [facilitatorCheck(config.facilitatorUrl, config.facilitatorApiKey, [...chains, ...clusters])]
      : []),
    ...(config.relayUrl ? [relayCheck(config.relayUrl, config)] : []),
  ];
};

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

/** A facilitator lists what it settles at `GET /supported`. */
const facilitatorCheck = (url: string, apiKey: string | undefined, chains: { network: string }[]): Check => ({
  variable: 'PAYMENTS_LEDGER_X402_FACILITATOR_URL',
  subject: `facilitator ${new URL(url).host}`,
  async problems() {
    const answer = await get(
      `${url.replace(/\/$/, '')}/supported`,
      apiKey ? { authorization: `Bearer ${apiKey}` } : {},
    );
    if (answer.status === 401 || answer.status === 403)
      return [`PAYMENTS_LEDGER_X402_FACILITATOR_API_KEY: the facilitator refuses it (${answer.status})`];
    const { kinds } = (answer.body ?? {}) as { kinds?: { x402Version: number; scheme: string; network: string }[] };
    if (!Array.isArray(kinds))
      return [`PAYMENTS_LEDGER_X402_FACILITATOR_URL: what answers there (${answer.status}) is no x402 facilitator`];
    return chains
      .filter(({ network }) => !kinds.some((kind) => kind.scheme === 'exact' && kind.network === network))
      .map(
        ({ network }) =>
          `PAYMENTS_LEDGER_X402_FACILITATOR_URL: the facilitator does not settle exact payments on ${network}`,
      );
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
