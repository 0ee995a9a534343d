import { startOwnProcess } from '@market/testing';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Agent } from './harness.js';

const PROJECT = fileURLToPath(new URL('../../../..', import.meta.url));
/** Returns the blocks of commands in a page of docs/ under a heading. */
export const commandsBelow = (heading: string, page = 'paying'): string[] =>
  [
    ...readFileSync(`${PROJECT}docs/${page}.md`, 'utf8')
      .split(`\n## ${heading}\n`)[1]!
      .split('\n## ')[0]!
      .matchAll(/```sh\n(.*?)```/gs),
  ].map(([, commands]) => commands!);

/** Runs these commands as written on the page. @returns their output. */
export async function runAsWritten(
  commands: string,
  { market }: Pick<Agent, 'market'>,
  listing: { slug: string },
  env: Record<string, string>,
): Promise<string> {
  const here = commands.replace('http://localhost:3000/api/v1', market.baseUrl).replaceAll('word-count', listing.slug);
  const { PATH, HOME, TMPDIR } = process.env;
  const shell = startOwnProcess('bash', ['-euc', here], {
    cwd: PROJECT,
    env: { PATH, HOME, TMPDIR, BASE_URL: market.baseUrl.replace('/api/v1', ''), ...env },
  });
  const code = await shell.ended;
  expect([code, shell.output()]).toEqual([0, shell.output()]);
  return shell.output();
}
