import 'reflect-metadata';
import { SERVICE_NAMES } from '@market/contracts';
import { usePostgres } from '@market/embedded-postgres';
import { databaseUrlOf, settingsOf, type Environment } from '@market/runtime';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { openDataDirectory } from './data-directory.js';
import { reasonOf } from './reason-of.js';
import { helpOf, readCommandLine } from './admin/command-line.js';
import { adminCommands } from './admin/commands.js';
import { printable } from './admin/printable.js';

/**
 * `market-admin` asks the running marketplace, or works on the databases that the environment names or the embedded
 * one in DATA_DIR.
 */
async function administer(words: string[], variables: Environment): Promise<string> {
  const env = settingsOf(variables);
  const line = readCommandLine(words, adminCommands, userName());
  if (!line) return `market-admin <command>\n\n${helpOf(adminCommands)}`;
  const run = (settings: Environment): Promise<string> => line.command.run(line.input, settings);
  if (line.command.worksOn || SERVICE_NAMES.some((service) => databaseUrlOf(service, env))) return run(env);
  const dataDir = resolve(env.DATA_DIR || '.data');
  return usePostgres(join(dataDir, 'postgres'), async (databaseUrl) => {
    const { secrets } = await openDataDirectory(dataDir);
    return run({ ...secrets, ...env, DATABASE_URL: databaseUrl('market') });
  });
}

/** The user of a container may have a number and no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}

await administer(process.argv.slice(2), process.env).then(
  (text) => void process.stdout.write(text === '' ? '' : `${printable(text)}\n`),
  (error: unknown) => {
    process.stderr.write(`${printable(reasonOf(error))}\n`);
    process.exitCode = 1;
  },
);
