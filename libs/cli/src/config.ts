import type { ChainType } from '@market/sdk';
import envPaths from 'env-paths';
import type { JSONWebKeySet } from 'jose';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** An agent of one marketplace that this machine's user controls. */
export interface Account {
  agentId: string;
  apiKey: string;
  wallet: { chain: ChainType; key: string };
  /** The secrets that sign the calls of its listings, by listing id. */
  signingSecrets: Record<string, string>;
  /** The listings of what is sold of other servers, by server and operation or tool. */
  sold?: Record<string, string>;
  /** The marketplace's public keys at the time a receipt was last saved. */
  jwks?: JSONWebKeySet;
}

export interface Config {
  /** The default marketplace of commands. */
  url?: string;
  /** Accounts by the marketplace's address. */
  accounts: Record<string, Account>;
}

export const CONFIG_FILE = join(envPaths('market', { suffix: '' }).config, 'config.json');

export const readConfig = async (): Promise<Config> =>
  JSON.parse(
    await readFile(CONFIG_FILE, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '{"accounts":{}}';
      throw error;
    }),
  ) as Config;

/** Replaces the file atomically. It contains keys, so only its user may read it. */
export async function changeConfig(change: (config: Config) => void): Promise<void> {
  const config = await readConfig();
  change(config);
  await mkdir(dirname(CONFIG_FILE), { recursive: true, mode: 0o700 });
  const written = `${CONFIG_FILE}.${process.pid}`;
  await writeFile(written, JSON.stringify(config, null, 2), { mode: 0o600 });
  await rename(written, CONFIG_FILE);
}
