import type { RunningMarketplace } from '@market/testing';
import { setTimeout as delay } from 'node:timers/promises';

const EVERY_MS = 100;

/**
 * Asks for the health of the edge, at the public port as a load balancer does and at the internal port as an
 * orchestrator does, until it is stopped.
 */
export class HealthWatch {
  private readonly took: number[] = [];
  private failed = 0;
  private hasEnded = false;
  private readonly watching: Promise<unknown>;

  constructor({ baseUrl, internalUrl, processes }: RunningMarketplace) {
    const edge = processes.find((name) => name === 'standalone' || name === 'api-gateway')!;
    this.watching = Promise.all([
      this.watch(`${baseUrl}/api/v1/health`),
      this.watch(`${internalUrl(edge)}/healthz/live`),
      this.watch(`${internalUrl(edge)}/healthz/ready`),
    ]);
  }

  async end(): Promise<{ asked: number; failed: number; slowestMs: number }> {
    this.hasEnded = true;
    await this.watching;
    return { asked: this.took.length, failed: this.failed, slowestMs: Math.max(...this.took) };
  }

  private async watch(url: string): Promise<void> {
    while (!this.hasEnded) {
      const askedAt = performance.now();
      const isWell = await fetch(url).then(
        async (response) => (await response.arrayBuffer(), response.ok),
        () => false,
      );
      this.took.push(performance.now() - askedAt);
      if (!isWell) this.failed += 1;
      await delay(EVERY_MS);
    }
  }
}
