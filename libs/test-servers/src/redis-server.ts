import { rm } from 'node:fs/promises';
import { answersOn } from './answers-on.js';
import { freePort } from './free-port.js';
import { findProgram, startOwnProcess, type OwnProcess } from './own-process.js';
import { temporaryDirectory } from './temporary-directory.js';

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again on the same port, without data. */
  restart(): Promise<void>;
  logs(): string;
  stop(): Promise<void>;
}

/** Starts a separate redis-server that stores nothing on disk. */
/** @param options further options of its command line. */
export async function startRedisServer(options: string[] = []): Promise<RedisServer> {
  const program = findProgram('redis-server', 'redis-server');
  const directory = await temporaryDirectory('redis');
  const port = await freePort();
  let server: OwnProcess;
  const start = async (): Promise<void> => {
    server = startOwnProcess(program, [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--appendonly',
      'no',
      '--dir',
      directory,
      ...options,
    ]);
    await answersOn(port, server, { hello: 'PING\r\n', greeting: /^\+PONG/ });
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    kill: async (signal = 'SIGKILL') => void (await server.stop(signal)),
    async restart() {
      await server.stop();
      await start();
    },
    logs: () => server.output(),
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
