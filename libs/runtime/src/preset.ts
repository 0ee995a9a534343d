import { ConfigError, type Environment } from './define-config.js';
import { withSecretFiles } from './secret-files.js';

/** The chains that presets name, by CAIP-2 id. */
const CHAINS = new Map([
  ['base', 'eip155:8453'],
  ['polygon', 'eip155:137'],
  ['arbitrum', 'eip155:42161'],
  ['solana', 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'],
]);

/**
 * Returns the environment with what `PAYMENTS_PRESET` stands for: real money in USDC on one chain, whose RPC server is
 * `PAYMENTS_RPC_URL`. Variables that are given win.
 * @throws ConfigError if no preset has this name.
 */
function withPreset(env: Environment): Environment {
  const { PAYMENTS_PRESET: preset, PAYMENTS_RPC_URL: rpcUrl } = env;
  if (!preset) return env;
  const network = CHAINS.get(preset);
  if (!network) throw new ConfigError([`PAYMENTS_PRESET: must be one of ${[...CHAINS.keys()].join(', ')}`]);
  const chains = rpcUrl ? `${network}=${rpcUrl}` : network;
  return {
    ...env,
    PAYMENTS_MODE: env.PAYMENTS_MODE || 'live',
    PAYMENTS_LEDGER_X402_CHAINS: env.PAYMENTS_LEDGER_X402_CHAINS || chains,
  };
}

/** The environment of a process, with the secrets that it names files for, and its preset. */
export const settingsOf = (env: Environment): Environment => withPreset(withSecretFiles(env));
