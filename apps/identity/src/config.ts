import { isUuid } from '@market/kernel';
import { defineConfig, integer, optional, text, variable, type ConfigDefinition, type ConfigOf } from '@market/runtime';
import { z } from 'zod';
import { parseWalletAddress } from './wallets/wallet-address.js';

/**
 * Parses `1=https://…,8453=https://…` to URLs by chain id. Problems do not repeat the value, because a URL may contain
 * a key.
 */
const urlByChain = z
  .string()
  .default('')
  .transform((text, context): ReadonlyMap<string, string> => {
    const pairs = text
      .split(',')
      .map((pair) => pair.trim())
      .filter((pair) => pair !== '');
    const urls = new Map<string, string>();
    for (const [index, pair] of pairs.entries()) {
      const [, chainId, url] = /^([1-9]\d{0,15})=(https?:\/\/.+)$/.exec(pair) ?? [];
      if (!chainId || !url || !URL.canParse(url))
        context.addIssue(`pair ${index + 1} is not <chain id>=<http or https URL>`);
      else if (urls.has(chainId)) context.addIssue(`chain ${chainId} is given twice`);
      else urls.set(chainId, url);
    }
    return urls;
  });

/** Humans by the ids of their accounts or by their wallets, comma separated. */
const operators = text('').transform((given, context) => {
  const entries = given
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean);
  const accountIds = entries.filter(isUuid).map((entry) => entry.toLowerCase());
  const addresses = entries.filter((entry) => !isUuid(entry)).map((entry) => parseWalletAddress(entry)?.address);
  addresses.forEach((address, index) => {
    if (address === undefined) context.addIssue(`wallet ${index + 1} is no address of a wallet`);
  });
  return { accountIds, addresses: addresses.filter((address) => address !== undefined) };
});

/** Plain HTTP is only for a provider on this machine. */
const issuer = z.url({ error: 'must be a URL', abort: true }).refine((text) => {
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname));
}, 'must be https');

const variables = defineConfig('identity', {
  powDifficulty: variable(
    'REGISTRATION_POW_DIFFICULTY',
    integer(1, 8, 4),
    "hex zeros of a registration's proof of work; each makes it 16 times harder",
  ),
  challengeTtlSeconds: variable(
    'IDENTITY_CHALLENGE_TTL_SECONDS',
    integer(30, 3600, 300),
    'lifetime of a wallet challenge',
  ),
  sessionTtlSeconds: variable(
    'IDENTITY_SESSION_TTL_SECONDS',
    integer(1, 2_592_000, 43_200),
    "lifetime of a human's session",
  ),
  maxApiKeys: variable('IDENTITY_MAX_API_KEYS', integer(1, 1_000, 100), 'active API keys of one account'),
  maxStoredChallenges: variable(
    'IDENTITY_MAX_STORED_CHALLENGES',
    integer(1_000, 100_000_000, 1_000_000),
    'challenges in total; beyond, those that expire first are deleted',
  ),
  operators: variable(
    'OPERATORS',
    operators,
    'humans who may use /api/v1/admin: ids of accounts or addresses of wallets, comma separated',
  ),
  evmRpcUrls: variable(
    'IDENTITY_EVM_RPC_URLS',
    urlByChain,
    'JSON-RPC by chain id, as 1=https://…,8453=https://…, to verify contract wallets (EIP-1271, EIP-6492)',
  ),
  oidcIssuer: variable(
    'OIDC_ISSUER',
    optional(issuer),
    'issuer of the OpenID provider that signs humans in; redirect URI: PUBLIC_URL/sign-in/oidc',
  ),
  oidcClientId: variable('OIDC_CLIENT_ID', optional(text()), 'the client registered there'),
  oidcClientSecret: variable('OIDC_CLIENT_SECRET', optional(text()), 'its secret; none if it is public'),
});

export type IdentityConfig = ConfigOf<typeof variables>;

export const identityConfig: ConfigDefinition<IdentityConfig> = {
  ...variables,
  parse(env, problems) {
    const config = variables.parse(env, problems);
    if ((config.oidcIssuer === undefined) !== (config.oidcClientId === undefined))
      problems.push('OIDC_ISSUER and OIDC_CLIENT_ID: are needed together');
    return config;
  },
};
