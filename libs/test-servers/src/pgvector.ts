import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { startOwnProcess } from './own-process.js';

const PROGRAM = fileURLToPath(new URL('../pgvector.mjs', import.meta.url));

export interface PgvectorServer {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL with pgvector, which no package of Debian 12 has: PGlite on a port. All connections share one
 * session, whose search path starts with `schema`; startup parameters are ignored, and statements of connections that
 * are not in a transaction are mixed.
 */
export async function startPgvectorServer(schema: string): Promise<PgvectorServer> {
  const port = await freePort();
  const server = startOwnProcess(process.execPath, [PROGRAM, String(port), schema]);
  await Promise.race([
    eventually(
      () => {
        if (!server.output().includes('ready')) throw new Error(`PGlite is not ready and wrote:\n${server.output()}`);
      },
      { withinMs: 600_000 },
    ),
    server.ended.then(() => {
      throw new Error(`PGlite ended and wrote:\n${server.output()}`);
    }),
  ]);
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres?sslmode=disable`,
    stop: async () => void (await server.stop()),
  };
}
