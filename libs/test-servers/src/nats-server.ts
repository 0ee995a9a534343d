import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { answersOn } from './answers-on.js';
import { freePort } from './free-port.js';
import { findProgram, startOwnProcess, type OwnProcess } from './own-process.js';
import { temporaryDirectory } from './temporary-directory.js';

export interface NatsServer {
  readonly url: string;
  readonly port: number;
  /** Ends the server like a crash, unless another signal is given. Its JetStream files remain for `restart()`. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /**
   * Starts it again on the same port with the same files. `forgetting` deletes the files, as after the loss of a disk.
   */
  restart(options?: { forgetting?: boolean }): Promise<void>;
  logs(): string;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
}

export interface NatsServerOptions {
  /** Returns the complete configuration file. Without it, every client may do everything. */
  config?(place: { port: number; storeDir: string }): string;
}

/** Starts a separate nats-server with JetStream, whose message size suffices for paid calls. */
export async function startNatsServer({ config = openToAll }: NatsServerOptions = {}): Promise<NatsServer> {
  const program = findProgram('nats-server', 'nats-server');
  const directory = await temporaryDirectory('nats');
  const port = await freePort();
  const storeDir = join(directory, 'jetstream');
  const configFile = join(directory, 'nats.conf');
  await writeFile(configFile, config({ port, storeDir }));

  const earlierLogs: string[] = [];
  let server: OwnProcess;
  const start = async (): Promise<void> => {
    server = startOwnProcess(program, ['-c', configFile]);
    await answersOn(port, server, { greeting: /^INFO / });
  };
  await start();
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    kill: async (signal = 'SIGKILL') => void (await server.stop(signal)),
    async restart({ forgetting = false } = {}) {
      await server.stop();
      earlierLogs.push(server.output());
      if (forgetting) await rm(storeDir, { recursive: true, force: true });
      await start();
    },
    logs: () => [...earlierLogs, server.output()].join(''),
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function openToAll({ port, storeDir }: { port: number; storeDir: string }): string {
  return `listen: "127.0.0.1:${port}"\nmax_payload: 9MB\njetstream { store_dir: "${storeDir}" }\n`;
}
