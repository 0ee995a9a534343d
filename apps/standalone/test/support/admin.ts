import { startOwnProcess } from '@market/testing';
import { fileURLToPath } from 'node:url';

const ENTRY = fileURLToPath(new URL('../../dist/admin/main.js', import.meta.url));

export interface AdminAnswer {
  code: number | null;
  output: string;
}

/** `npm run admin -- <words>`, built, with nothing of this process's environment but what finding programs takes. */
export async function admin(env: Record<string, string>, ...words: string[]): Promise<AdminAnswer> {
  const { PATH, HOME, TMPDIR } = process.env;
  const command = startOwnProcess(process.execPath, [ENTRY, ...words], { env: { PATH, HOME, TMPDIR, ...env } });
  return { code: await command.ended, output: command.output().trimEnd() };
}
