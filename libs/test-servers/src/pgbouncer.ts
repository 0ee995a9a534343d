import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { answersOn } from './answers-on.js';
import { findProgram, startOwnProcess } from './own-process.js';
import { temporaryDirectory } from './temporary-directory.js';

export interface PgBouncer {
  /** The URL of a database of the server through the pooler. */
  through(databaseUrl: string): string;
  stop(): Promise<void>;
}

/** Starts a separate PgBouncer with the defaults of its package before the server of `serverUrl`. */
export async function startPgBouncer(serverUrl: string, poolMode: 'session' | 'transaction'): Promise<PgBouncer> {
  const program = findProgram('pgbouncer', 'pgbouncer');
  const { hostname, port: serverPort, username, password } = new URL(serverUrl);
  const directory = await temporaryDirectory('pgbouncer');
  const port = await freePort();
  const file = join(directory, 'pgbouncer.ini');
  await writeFile(
    file,
    `[databases]
* = host=${hostname} port=${serverPort} user=${username} password=${decodeURIComponent(password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
default_pool_size = 40
`,
  );
  // It does not run as root.
  const isRoot = process.getuid?.() === 0;
  await Promise.all([chmod(directory, 0o755), chmod(file, 0o644)]);
  const server = startOwnProcess(program, [...(isRoot ? ['-u', 'nobody'] : []), file]);
  // A request for TLS is answered by one letter.
  await answersOn(port, server, { hello: '\0\0\0\x08\x04\xd2\x16\x2f', greeting: /^N$/ });
  return {
    through(databaseUrl) {
      const url = new URL(databaseUrl);
      url.host = `127.0.0.1:${port}`;
      return url.href;
    },
    async stop() {
      await server.stop('SIGINT');
      await rm(directory, { recursive: true, force: true });
    },
  };
}
