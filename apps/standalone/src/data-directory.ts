import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** The directory with the durable data of a standalone marketplace. */
export interface DataDirectory {
  path: string;
  postgresDir: string;
  /** The first start generates them; later starts read them. */
  secrets: { ENCRYPTION_KEYS: string; PAYMENTS_LEDGER_SIGNING_KEYS: string };
}

export async function openDataDirectory(path: string): Promise<DataDirectory> {
  const absolute = resolve(path);
  await mkdir(absolute, { recursive: true });
  return {
    path: absolute,
    postgresDir: join(absolute, 'postgres'),
    secrets: {
      ENCRYPTION_KEYS: await secretIn(join(absolute, 'encryption-keys'), `k1:${randomKey()}`),
      PAYMENTS_LEDGER_SIGNING_KEYS: await secretIn(join(absolute, 'signing-keys'), randomKey()),
    },
  };
}

const randomKey = (): string => randomBytes(32).toString('base64');

/** The file is written under another name and then renamed, so that a crash leaves either no file or a complete one. */
async function secretIn(file: string, fresh: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await writeFile(`${file}.new`, `${fresh}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
    return fresh;
  }
}
