import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** Where a standalone marketplace keeps what it must not lose. */
export interface DataDirectory {
  path: string;
  postgresDir: string;
  /** Made once, on the first start; read from then on. */
  encryptionKeys: string;
}

export async function openDataDirectory(path: string): Promise<DataDirectory> {
  const absolute = resolve(path);
  await mkdir(absolute, { recursive: true });
  return { path: absolute, postgresDir: join(absolute, 'postgres'), encryptionKeys: await encryptionKeysIn(join(absolute, 'encryption-keys')) };
}

/** Written beside and renamed, so that a crash leaves either no file or a whole one. */
async function encryptionKeysIn(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const keys = `k1:${randomBytes(32).toString('base64')}`;
    await writeFile(`${file}.new`, `${keys}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
    return keys;
  }
}
