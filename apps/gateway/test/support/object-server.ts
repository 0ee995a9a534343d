import { eventually, freePort, startOwnProcess, temporaryDirectory } from '@market/testing';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const BUCKET = 'market';

/** A server that speaks the protocol of S3. */
export interface ObjectServer {
  url: string;
  has(key: string): boolean;
  stop(): Promise<void>;
}

export async function startObjectServer(): Promise<ObjectServer> {
  const [port, directory] = [await freePort(), await temporaryDirectory('objects')];
  const program = join(dirname(createRequire(import.meta.url).resolve('s3rver/package.json')), 'bin/s3rver.js');
  const args = ['--directory', directory, '--port', String(port), '--address', '127.0.0.1', '--no-vhost-buckets'];
  const server = startOwnProcess(process.execPath, [program, ...args, '--configure-bucket', BUCKET]);
  await eventually(() => fetch(`http://127.0.0.1:${port}/`), { withinMs: 20_000 });
  return {
    url: `http://S3RVER:S3RVER@127.0.0.1:${port}/${BUCKET}`,
    has: (key) => existsSync(join(directory, BUCKET, `${key}._S3rver_object`)),
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
