import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const temporaryDirectory = (purpose: string): Promise<string> => mkdtemp(join(tmpdir(), `market-${purpose}-`));
