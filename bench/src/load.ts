import { Pool } from 'undici';

export interface Shot {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

/** The n-th address that requests are said to come from. */
export const addressOf = (n: number): string => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;

export interface Measured {
  count: number;
  seconds: number;
  perSecond: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
  /** Answers with another status than the scenario expects, by status; empty when all is well. */
  unexpected: Record<string, number>;
}

export interface Load {
  baseUrl: string;
  connections: number;
  seconds: number;
  expect: number;
  /** The next request; undefined ends the load early. */
  next(): Shot | undefined;
}

/** Latencies and statuses of answers, of one load or several. */
export class Tally {
  private readonly latencies: number[] = [];
  private readonly unexpected: Record<string, number> = {};
  private elapsedSeconds = 0;

  answered(tookMs: number): void {
    this.latencies.push(tookMs);
  }

  refused(status: number): void {
    this.unexpected[status] = (this.unexpected[status] ?? 0) + 1;
  }

  lasted(seconds: number): void {
    this.elapsedSeconds += seconds;
  }

  measured(): Measured {
    const sorted = Float64Array.from(this.latencies).sort();
    const quantile = (q: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
    return {
      count: sorted.length,
      seconds: this.elapsedSeconds,
      perSecond: sorted.length / this.elapsedSeconds,
      p50Ms: quantile(0.5),
      p95Ms: quantile(0.95),
      p99Ms: quantile(0.99),
      unexpected: this.unexpected,
    };
  }
}

/** A closed loop: each connection sends its next request when the last is answered. Many addresses are used to stay below rate limits. */
export async function fire(
  { baseUrl, connections, seconds, expect, next }: Load,
  tally = new Tally(),
): Promise<Measured> {
  const pool = new Pool(baseUrl, { connections, pipelining: 1 });
  const startedAt = performance.now();
  const endAt = startedAt + seconds * 1000;
  let sent = 0;
  const worker = async (): Promise<void> => {
    for (let shot = next(); shot && performance.now() < endAt; shot = next()) {
      const sentAt = performance.now();
      const { statusCode, body } = await pool.request({
        method: shot.method,
        path: shot.path,
        headers: { 'x-forwarded-for': addressOf(sent++), ...shot.headers },
        body: shot.body,
      });
      await body.arrayBuffer();
      tally.answered(performance.now() - sentAt);
      if (statusCode !== expect) tally.refused(statusCode);
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  tally.lasted((performance.now() - startedAt) / 1000);
  await pool.close();
  return tally.measured();
}
