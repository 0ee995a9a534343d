import type { ServiceName } from '@market/contracts';

/** What a distributed marketplace stands on. */
export type ServerName = 'postgres' | 'nats' | 'redis';

/** What can be killed and restarted: one service, a further replica of it (`gateway#2`), the process that holds all of them, or a server. */
export type ProcessName = ServiceName | `${ServiceName}#${number}` | 'standalone' | ServerName;

/** A whole marketplace, seen from outside. */
export interface RunningMarketplace {
  readonly mode: 'standalone' | 'distributed';
  /** `http://127.0.0.1:<port>`; the API is under `/api/v1`. */
  readonly baseUrl: string;
  /** Everything it stores, as the owner of every schema. */
  readonly databaseUrl: string;
  /** The marketplace's own. */
  readonly processes: readonly ProcessName[];
  /** Ends a process as a crash does, unless another signal is named, and waits until it is gone. @returns its exit code, null where a signal ended it. */
  kill(name: ProcessName, signal?: NodeJS.Signals): Promise<number | null>;
  /**
   * Starts a process that was killed, or stops one in order first; waits until it is ready.
   * @param env of one of the marketplace's own: beside and instead of what it was started with, from now on.
   */
  restart(name: ProcessName, env?: Record<string, string>): Promise<void>;
  /** Where a distributed one counts rates. */
  readonly redisUrl?: string;
  /** What a process wrote so far, over all its lives; of the servers, NATS tells what it carried, where it is traced. */
  logs(name: ProcessName): string;
  pid(name: ProcessName): number | undefined;
  /** Where its health and its metrics are. */
  internalUrl(name: ProcessName): string;
  /** Stops it in order and removes what it stored. */
  stop(): Promise<void>;
}

export interface MarketplaceOptions {
  mode: 'standalone' | 'distributed';
  /** Beside and instead of the settings of a test, for every process. */
  env?: Record<string, string>;
  /** Lets NATS write down every message it carries. */
  traceBus?: boolean;
  /** Where the services of a distributed one reach PostgreSQL, such as at a proxy of it; `databaseUrl` stays its own. */
  databaseThrough?: (databaseUrl: string) => Promise<string>;
  /** How many processes of a service run where each service has its own; one by default. The edge has one. */
  replicas?: Partial<Record<Exclude<ServiceName, 'api-gateway'>, number>>;
}
