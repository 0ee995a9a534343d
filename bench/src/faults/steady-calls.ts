import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Shot } from '../load.js';

const REPEATED_AFTER_MS = 250;

/** What clients saw since `watch`. */
export interface Seen {
  /** The calls that were delivered. */
  calls: number;
  /** Answers that delivered nothing, as `12 × 503, 2 × 502`; a call that was answered 202 goes on and has not failed. */
  failures: string;
  slowestMs: number;
}

/** Sends paid calls at a rate. Each is repeated until it is delivered, as its client would repeat it. */
export class SteadyCalls {
  delivered = 0;
  lastFailureAt = 0;
  private readonly pool: Pool;
  private readonly underWay = new Set<Promise<void>>();
  private readonly timer: NodeJS.Timeout;
  private failures: Record<string, number> = {};
  private calls = 0;
  private slowestMs = 0;

  constructor(
    baseUrl: string,
    perSecond: number,
    private readonly shots: Shot[],
  ) {
    this.pool = new Pool(baseUrl, { pipelining: 1 });
    this.timer = setInterval(() => this.begin(), 1_000 / perSecond);
  }

  watch(): void {
    [this.failures, this.calls, this.slowestMs] = [{}, 0, 0];
  }

  seen(): Seen {
    const failures = Object.entries(this.failures).map(([what, count]) => `${count} × ${what}`);
    return { calls: this.calls, failures: failures.join(', '), slowestMs: this.slowestMs };
  }

  /** Sends the calls that are left, and ends when each is delivered. */
  async end(): Promise<void> {
    clearInterval(this.timer);
    while (this.shots.length > 0) {
      this.begin();
      if (this.underWay.size >= 32) await Promise.race(this.underWay);
    }
    await Promise.all(this.underWay);
    await this.pool.close();
  }

  private begin(): void {
    const shot = this.shots.pop();
    if (!shot) return;
    const call = this.deliver(shot).finally(() => this.underWay.delete(call));
    this.underWay.add(call);
  }

  private async deliver(shot: Shot): Promise<void> {
    const startedAt = performance.now();
    for (;;) {
      const status = await this.send(shot);
      if (status === 200) break;
      if (status !== 202) {
        this.lastFailureAt = performance.now();
        this.failures[status] = (this.failures[status] ?? 0) + 1;
      }
      await delay(REPEATED_AFTER_MS);
    }
    this.delivered += 1;
    this.calls += 1;
    this.slowestMs = Math.max(this.slowestMs, performance.now() - startedAt);
  }

  private async send({ method, path, headers, body }: Shot): Promise<number | string> {
    try {
      const answer = await this.pool.request({ method, path, headers, body });
      await answer.body.dump();
      return answer.statusCode;
    } catch (error) {
      return (error as { code?: string }).code ?? String(error);
    }
  }
}
