import { formatUsd, Marketplace, type Listing } from '@market/sdk';
import yargs from 'yargs';
import { hideBin } from 'yargs/helpers';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { readConfig, type Account } from './config.js';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** The options of every command. */
export const commonOptions = yargs(hideBin(process.argv))
  .scriptName('market')
  .version(version)
  .locale('en')
  .env('MARKET')
  .option('url', { type: 'string', describe: 'The marketplace; the one signed up at by default' })
  .option('api-key', { type: 'string', describe: 'Instead of the one kept here; better as MARKET_API_KEY' })
  .option('json', { type: 'boolean', default: false, describe: 'Prints JSON' });

export type Cli = typeof commonOptions;
export interface CommonOptions {
  url?: string;
  apiKey?: string;
  json: boolean;
}

export const EXIT = { failed: 1, usage: 2, notDelivered: 3, notPaid: 4 } as const;

/** A failure with its own exit code. */
export class CommandError extends Error {
  constructor(
    message: string,
    readonly exitCode: number = EXIT.failed,
  ) {
    super(message);
  }
}

const DEFAULT_URL = 'http://localhost:3000';

export interface Session {
  url: string;
  /** Absent if the key is from the environment, or if there is none. */
  account?: Account;
  market: Marketplace;
}

/** Returns the marketplace of a command, with the stored account. */
export async function sessionOf({ url: given, apiKey }: CommonOptions): Promise<Session> {
  const config = await readConfig();
  const url = (given ?? config.url ?? DEFAULT_URL).replace(/(\/api\/v1)?\/*$/, '');
  const account = apiKey ? undefined : config.accounts[url];
  return { url, account, market: new Marketplace({ baseUrl: url, apiKey: apiKey ?? account?.apiKey }) };
}

export async function accountOf(options: CommonOptions): Promise<Session & { account: Account }> {
  const session = await sessionOf(options);
  if (session.account) return { ...session, account: session.account };
  throw new CommandError(`There is no account of ${session.url} on this machine. Make one with: market signup`);
}

export const printJson = (value: unknown): void => console.log(JSON.stringify(value, null, 2));

/** Prints what a resource says, a field a line, or all of it as JSON. */
export function printFields({ json }: CommonOptions, resource: object): void {
  if (json) return printJson(resource);
  const fields = Object.entries(resource).filter(([, value]) => value !== null && String(value) !== '');
  for (const [field, value] of fields) console.log(`${field}: ${printable(value)}`);
}

/** Prints a table for people, or all data as JSON. */
export function print<T>(
  { json }: CommonOptions,
  rows: readonly T[],
  columns: Record<string, (row: T) => unknown>,
): void {
  if (json) return printJson(rows);
  if (rows.length === 0) return console.error('Nothing.');
  const lines = [Object.keys(columns).map((name) => name.toUpperCase())];
  for (const row of rows) lines.push(Object.values(columns).map((cell) => printable(cell(row))));
  const widths = lines[0]!.map((_, at) => Math.max(...lines.map((line) => line[at]!.length)));
  for (const line of lines)
    console.log(
      line
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join('  ')
        .trimEnd(),
    );
}

/**
 * Returns the value on one line without control characters, because other people wrote much of what is shown and a
 * terminal executes control sequences.
 */
export const printable = (value: unknown): string =>
  (typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '')).replace(/\p{Cc}+/gu, ' ');

/** `2026-11-23T07:46:56.000Z` → `2026-11-23 07:46:56` */
export const time = (iso: string): string => iso.slice(0, 19).replace('T', ' ');

export const price = ({ pricing_model, pricing_amount }: Listing): string =>
  pricing_amount ? `${formatUsd(pricing_amount)} ${pricing_model.replace('_', ' ')}` : 'free';

/** Reads a JSON argument: the text itself, `@file`, or `@-` for standard input. */
export async function bodyFrom(argument: string): Promise<object> {
  const read = (file: string): Promise<string> => (file === '-' ? text(process.stdin) : readFile(file, 'utf8'));
  const json = argument.startsWith('@') ? await read(argument.slice(1)) : argument;
  try {
    return JSON.parse(json) as object;
  } catch (cause) {
    throw new CommandError(`The body is not JSON: ${(cause as Error).message}`, EXIT.usage);
  }
}

export function headerOf(line: string): { name: string; value: string } {
  const [, name, value] = /^([^:\s]+):\s*(.+)$/.exec(line) ?? [];
  if (!name || !value) throw new CommandError('A header is written as "Name: value".', EXIT.usage);
  return { name, value };
}

/** Asks a person, and goes on only after a yes. `option` agrees beforehand. */
export async function agree(question: string, option: string, exitCode: number): Promise<void> {
  if (!process.stdin.isTTY) throw new CommandError(`${question}\nAgree with ${option}`, exitCode);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${question} [y/N] `);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new CommandError(exitCode === EXIT.notPaid ? 'Nothing was paid.' : 'Nothing was done.', exitCode);
}
