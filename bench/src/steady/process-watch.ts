import type { RunningMarketplace } from '@market/testing';
import { setTimeout as delay } from 'node:timers/promises';

const EVERY_MS = 10_000;

export interface Sample {
  atMs: number;
  residentMiB: number;
  heapMiB: number;
  /** Since the previous sample. */
  loopDelayP99Ms: number;
  /** Unpublished, parked and dead events. */
  queued: number;
  /** Requests that wait for a connection to PostgreSQL. */
  waiting: number;
}

/** Reads the metrics of all processes of a marketplace every ten seconds, until it is stopped. */
export class ProcessWatch {
  readonly samples: Map<string, Sample[]>;
  private readonly startedAt = performance.now();
  private hasEnded = false;
  private readonly watching: Promise<void>;

  constructor(private readonly market: RunningMarketplace) {
    this.samples = new Map(market.processes.map((name) => [name, []]));
    this.watching = this.watch();
  }

  async end(): Promise<void> {
    this.hasEnded = true;
    await this.watching;
  }

  private async watch(): Promise<void> {
    // The first reading resets the measurement of delays, which covers the time between two readings.
    await this.look();
    while (!this.hasEnded) {
      await delay(EVERY_MS);
      for (const [name, sample] of await this.look()) this.samples.get(name)!.push(sample);
    }
  }

  private look(): Promise<[name: string, sample: Sample][]> {
    return Promise.all(
      this.market.processes.map(async (name): Promise<[string, Sample]> => {
        const metrics = await (await fetch(`${this.market.internalUrl(name)}/metrics`)).text();
        const sum = (metric: string): number =>
          [...metrics.matchAll(new RegExp(`^${metric} (\\S+)$`, 'gm'))].reduce(
            (total, [, value]) => total + Number(value),
            0,
          );
        return [
          name,
          {
            atMs: performance.now() - this.startedAt,
            residentMiB: sum('process_resident_memory_bytes') / 2 ** 20,
            heapMiB: sum('nodejs_heap_size_used_bytes') / 2 ** 20,
            loopDelayP99Ms: sum('nodejs_eventloop_lag_p99_seconds') * 1_000,
            queued: sum('market_event_queue_length\\{[^}]*\\}'),
            waiting: sum('db_client_connection_count\\{[^}]*state="waiting"[^}]*\\}'),
          },
        ];
      }),
    );
  }
}
