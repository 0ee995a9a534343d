import { isUuid } from '@market/kernel';
import { defineConfig, integer, text, variable, type ConfigOf } from '@market/runtime';
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

export const identityConfig = defineConfig('identity', {
  powDifficulty: variable(
    'REGISTRATION_POW_DIFFICULTY',
    integer(1, 8, 4),
    'hex zeros the proof of work of a registration starts with; each makes it 16 times harder',
  ),
  challengeTtlSeconds: variable(
    'IDENTITY_CHALLENGE_TTL_SECONDS',
    integer(30, 3600, 300),
    'how long a wallet challenge may be answered',
  ),
  sessionTtlSeconds: variable(
    'IDENTITY_SESSION_TTL_SECONDS',
    integer(1, 2_592_000, 43_200),
    'how long a human stays signed in',
  ),
  maxApiKeys: variable('IDENTITY_MAX_API_KEYS', integer(1, 1_000, 100), 'API keys of one account that work at a time'),
  maxStoredChallenges: variable(
    'IDENTITY_MAX_STORED_CHALLENGES',
    integer(1_000, 100_000_000, 1_000_000),
    'challenges kept in total; beyond that, those that expire first are deleted',
  ),
  operators: variable(
    'OPERATORS',
    operators,
    'humans who may use /api/v1/admin and the console of operators with their sessions: ' +
      'ids of accounts or addresses of wallets, comma separated',
  ),
  evmRpcUrls: variable(
    'IDENTITY_EVM_RPC_URLS',
    urlByChain,
    'JSON-RPC by chain id, as 1=https://…,8453=https://…; lets contract wallets (EIP-1271, EIP-6492) of these chains in',
  ),
});

export type IdentityConfig = ConfigOf<typeof identityConfig>;
