import type { ServiceName } from '@market/contracts';

/** The servers that a distributed marketplace needs. */
export type ServerName = 'postgres' | 'nats' | 'redis';

/**
 * A process that can be killed and restarted: a service, a further replica of it (`gateway#2`), the process that runs
 * all services, or a server.
 */
export type ProcessName = ServiceName | `${ServiceName}#${number}` | 'standalone' | ServerName;

/** A complete marketplace, seen from outside. */
export interface RunningMarketplace {
  readonly mode: 'standalone' | 'distributed';
  /** `http://127.0.0.1:<port>`; the API is under `/api/v1`. */
  readonly baseUrl: string;
  /** The base URL of each process of the edge; the first is `baseUrl`. */
  readonly edgeUrls: readonly string[];
  /** All its data, as the owner of every schema. */
  readonly databaseUrl: string;
  /** The marketplace's own processes. */
  readonly processes: readonly ProcessName[];
  /**
   * Ends a process like a crash, unless another signal is given, and waits for its end.
   * @returns its exit code; null if a signal ended it.
   */
  kill(name: ProcessName, signal?: NodeJS.Signals): Promise<number | null>;
  /**
   * Starts a process that was killed, or first stops one in order. Waits until it is ready.
   * @param env for the marketplace's own processes: variables that are added to its environment, for later starts too.
   */
  restart(name: ProcessName, env?: Record<string, string>): Promise<void>;
  /** The Redis in which a distributed marketplace counts rates. */
  readonly redisUrl?: string;
  /** Returns the output of a process over all its starts. With `traceBus`, the output of NATS includes the messages. */
  logs(name: ProcessName): string;
  pid(name: ProcessName): number | undefined;
  /** Returns the URL of its health and metrics. */
  internalUrl(name: ProcessName): string;
  /** Stops the marketplace in order and removes its data. */
  stop(): Promise<void>;
}

export interface MarketplaceOptions {
  mode: 'standalone' | 'distributed';
  /** Variables for every process, which override the settings for tests. */
  env?: Record<string, string>;
  /** Makes NATS log every message. */
  traceBus?: boolean;
  /**
   * Returns the URL at which the services of a distributed marketplace reach PostgreSQL, such as a proxy. `databaseUrl`
   * stays the direct one.
   */
  databaseThrough?: (databaseUrl: string) => Promise<string>;
  /** The number of processes of a service in distributed mode; one by default. */
  replicas?: Partial<Record<ServiceName, number>>;
}
