import { DEFAULT_ASSETS, findDefaultAsset } from '@x402/evm';
import {
  BaseError,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  createPublicClient,
  domainSeparator,
  http,
  InvalidBytesBooleanError,
  parseAbi,
  zeroAddress,
  zeroHash,
  type Address,
  type PublicClient,
} from 'viem';
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
  /** It takes no signatures (EIP-3009), so that it is moved by Permit2. */
  byPermit2?: true | undefined;
}

const VARIABLE = 'PAYMENTS_LEDGER_X402_EIP712';
const abi = parseAbi([
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function decimals() view returns (uint8)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function authorizationState(address, bytes32) view returns (bool)',
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

/** USDC of a network, by Circle's list or by the table of `@x402/evm`; undefined if neither has it. */
export const usdcOn = (network: string): string | undefined =>
  USDC[network] ??
  DEFAULT_ASSETS[network as `eip155:${number}`]?.find(
    ({ symbol, decimals }) => symbol === 'USDC' && decimals === USDC_TERMS.decimals,
  )?.asset;

/** Whether the table of `@x402/evm` says that a token takes no signatures itself. */
export const isKnownByPermit2 = (network: string, asset: string): true | undefined =>
  findDefaultAsset(asset, network as `eip155:${number}`)?.assetTransferMethod === 'permit2' || undefined;

/** Whether a contract has no authorizations (EIP-3009). @throws Error if the server gives no answer. */
const hasNone = (server: PublicClient, address: Address): Promise<boolean> =>
  server.readContract({ address, abi, functionName: 'authorizationState', args: [zeroAddress, zeroHash] }).then(
    () => false,
    (error: unknown) => {
      const isSaid = (cause: unknown): boolean =>
        cause instanceof ContractFunctionRevertedError ||
        cause instanceof ContractFunctionZeroDataError ||
        cause instanceof InvalidBytesBooleanError;
      if (error instanceof BaseError && error.walk(isSaid) !== null) return true;
      throw error;
    },
  );

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
 * @returns the domain, whether only Permit2 moves it, and what does not fit.
 * @throws Error if the server gives no answer.
 */
export async function readToken(
  { network, chainId, usdc, domain, byPermit2 }: Token,
  server: PublicClient,
): Promise<{ domain: TokenDomain | undefined; byPermit2: true | undefined; problems: string[] }> {
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
  if (byPermit2 ?? (await hasNone(server, usdc))) return { domain: used, byPermit2: true, problems };
  if (used && !isDomainOf(used, { chainId, usdc, separator, read712 }))
    problems.push(
      `${VARIABLE}: the token ${usdc} of ${network} does not take signatures for ${used.name}:${used.version}` +
        (read712 ? `; it calls itself ${read712.name}:${read712.version}` : ''),
    );
  return { domain: used, byPermit2: undefined, problems };
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
        return { ...chain, domain: found.domain, byPermit2: found.byPermit2 };
      }
      if (chain.domain && chain.rpcUrls.length > 0)
        warn(`no RPC server of ${chain.network} answers, so its USDC is not compared with ${VARIABLE}`);
      return chain;
    }),
  );
  for (const { network, domain, usdc, byPermit2 } of resolved)
    if (!domain && !byPermit2)
      problems.push(`${VARIABLE}: names no token of ${network}, and nobody says the name of ${usdc}`);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return resolved;
}
