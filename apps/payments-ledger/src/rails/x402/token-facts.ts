import { findDefaultAsset } from '@x402/evm';
import { createPublicClient, domainSeparator, http, parseAbi, type Address, type PublicClient } from 'viem';
import { z } from 'zod';
import { USDC } from '../assets.js';
import { USDC_TERMS } from '../payment-rail.js';

/** The EIP-712 domain of a token: what a signature of EIP-3009 is for. */
export interface TokenDomain {
  name: string;
  version: string;
}

/** USDC on an EVM chain. */
interface Token {
  /** CAIP-2 id. */
  network: string;
  chainId: number;
  usdc: Address;
  /** What its signatures are for; undefined while only the chain can tell. */
  domain?: TokenDomain;
}

const VARIABLE = 'PAYMENTS_LEDGER_X402_EIP712';
const abi = parseAbi([
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function decimals() view returns (uint8)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
]);

/** Contracts of Circle that the table of `@x402/evm` does not have. Source: their `name()` and `version()`. */
const OF_CIRCLE: Record<string, TokenDomain> = {
  'eip155:10': { name: 'USD Coin', version: '2' },
  'eip155:11155111': { name: 'USDC', version: '2' },
};

/** Parses `eip155:31337=USDC:2`: the name and the version of USDC on each chain. */
export const tokenDomains = z.string().transform((text, context) => {
  const domains = new Map<string, TokenDomain>();
  for (const entry of text.split(',')) {
    const [, network, name, version] = /^(eip155:[1-9]\d{0,15})=([^:]{1,64}):([^:]{1,16})$/.exec(entry.trim()) ?? [];
    if (network && name && version) domains.set(network, { name, version });
    else context.addIssue('it is a list of chain=name:version with CAIP-2 ids, as in eip155:31337=USDC:2');
  }
  return domains;
});

/** The domain of a contract that is known without asking its chain; undefined if it is not. */
export function knownDomain(network: string, asset: string): TokenDomain | undefined {
  const { name, version } =
    findDefaultAsset(asset, network as `eip155:${number}`) ??
    (asset === USDC[network] ? OF_CIRCLE[network] : undefined) ??
    {};
  return name !== undefined && version !== undefined ? { name, version } : undefined;
}

/**
 * Compares what is configured or known of a token with its contract.
 * @returns the domain, and what does not fit.
 * @throws Error if the server gives no answer.
 */
export async function readToken(
  { network, chainId, usdc, domain }: Token,
  server: PublicClient,
): Promise<{ domain: TokenDomain | undefined; problems: string[] }> {
  // An error after this answer is the contract's, which lacks the function.
  await server.getChainId();
  const read = (functionName: 'name' | 'version' | 'decimals' | 'DOMAIN_SEPARATOR') =>
    server.readContract({ address: usdc, abi, functionName }).catch(() => undefined);
  const [name, version, decimals, separator] = (await Promise.all([
    read('name'),
    read('version'),
    read('decimals'),
    read('DOMAIN_SEPARATOR'),
  ])) as [string?, string?, number?, string?];
  const read712 = name !== undefined && version !== undefined ? { name, version } : undefined;
  const used = domain ?? read712;
  const problems: string[] = [];
  if (decimals !== undefined && decimals !== USDC_TERMS.decimals)
    problems.push(
      `PAYMENTS_LEDGER_X402_USDC: the token ${usdc} of ${network} has ${decimals} decimals, and USDC has ${USDC_TERMS.decimals}`,
    );
  if (used && !isDomainOf(used, { chainId, usdc, separator, read712 }))
    problems.push(
      `${VARIABLE}: the token ${usdc} of ${network} does not take signatures for ${used.name}:${used.version}` +
        (read712 ? `; it calls itself ${read712.name}:${read712.version}` : ''),
    );
  return { domain: used, problems };
}

/** The contract's separator decides. A contract without one is believed by its name and version. */
function isDomainOf(
  used: TokenDomain,
  asked: { chainId: number; usdc: Address; separator?: string; read712?: TokenDomain },
): boolean {
  const { chainId, usdc, separator, read712 } = asked;
  if (separator !== undefined)
    return domainSeparator({ domain: { ...used, chainId, verifyingContract: usdc } }) === separator;
  return read712 === undefined || (read712.name === used.name && read712.version === used.version);
}

/**
 * The chains with the domain of each token.
 * @throws Error if a token is not what is configured or known, or if nobody knows its domain.
 */
export async function withTokenDomains<T extends Token & { rpcUrls: string[] }>(
  chains: T[],
  timeoutMs: number,
  warn: (message: string) => void,
): Promise<T[]> {
  const problems: string[] = [];
  const resolved = await Promise.all(
    chains.map(async (chain) => {
      for (const url of chain.rpcUrls) {
        const server = createPublicClient({ transport: http(url, { timeout: timeoutMs, retryCount: 0 }) });
        const found = await readToken(chain, server).catch(() => undefined);
        if (!found) continue;
        problems.push(...found.problems);
        return { ...chain, domain: found.domain };
      }
      if (chain.domain && chain.rpcUrls.length > 0)
        warn(`no RPC server of ${chain.network} answers, so its USDC is not compared with ${VARIABLE}`);
      return chain;
    }),
  );
  for (const { network, domain, usdc } of resolved)
    if (!domain) problems.push(`${VARIABLE}: names no token of ${network}, and nobody says the name of ${usdc}`);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return resolved;
}
