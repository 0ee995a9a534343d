import { startPostgres, type EmbeddedPostgres } from '@market/embedded-postgres';
import { rm } from 'node:fs/promises';
import { withClient } from '@market/persistence/testing';
import { temporaryDirectory } from '@market/test-servers';

/** A separate PostgreSQL that writes durably to disk and keeps its port after a crash. */
export class PostgresServer {
  private constructor(
    private readonly dataDir: string,
    private server: EmbeddedPostgres,
  ) {}

  static async start(): Promise<PostgresServer> {
    const dataDir = await temporaryDirectory('postgres');
    return new PostgresServer(dataDir, await open(dataDir));
  }

  /** @returns its URL, as the owner of the server. */
  async createDatabase(name: string): Promise<string> {
    await withClient(this.server.url, (client) => client.query(`CREATE DATABASE ${name}`));
    return this.server.databaseUrl(name);
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    process.kill(this.server.pid, signal);
    await this.server.exited;
  }

  async restart(): Promise<void> {
    const { port } = this.server;
    await this.server.stop();
    this.server = await open(this.dataDir, port);
  }

  /** Stops the server and removes its files. */
  async remove(): Promise<void> {
    await this.server.stop();
    await rm(this.dataDir, { recursive: true, force: true, maxRetries: 5 });
  }
}

const open = (dataDir: string, port?: number): Promise<EmbeddedPostgres> =>
  startPostgres({ dataDir, port, settings: { max_connections: '200' } });
