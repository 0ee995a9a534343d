import { OPERATOR, startOwnProcess, type OwnProcess } from '@market/testing';
import { fileURLToPath } from 'node:url';
import type { Harness } from './harness.js';

const ENTRY = fileURLToPath(new URL('../../bin/market-admin.mjs', import.meta.url));

export interface AdminAnswer {
  code: number | null;
  output: string;
}

/**
 * Starts the `market-admin <words>`. Of this process's environment it only gets what is needed to find
 * programs.
 */
export function startAdmin(env: Record<string, string>, ...words: string[]): OwnProcess {
  const { PATH, HOME, TMPDIR } = process.env;
  return startOwnProcess(process.execPath, [ENTRY, ...words], { env: { PATH, HOME, TMPDIR, ...env } });
}

/** Runs the command to its end. */
export async function admin(env: Record<string, string>, ...words: string[]): Promise<AdminAnswer> {
  const command = startAdmin(env, ...words);
  return { code: await command.ended, output: command.output().trimEnd() };
}

/** The environment of an operator's commands that ask the running marketplace. */
export const operatorsEnv = ({ baseUrl }: Pick<Harness, 'baseUrl'>): Record<string, string> => ({
  MARKET_URL: baseUrl,
  OPERATOR_KEY: OPERATOR.key,
});
