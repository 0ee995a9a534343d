import { Pool } from 'undici';

export interface Shot {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface Measured {
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

/** A closed loop: each connection sends its next request when the last is answered. */
export async function fire({ baseUrl, connections, seconds, expect, next }: Load): Promise<Measured> {
  const pool = new Pool(baseUrl, { connections, pipelining: 1 });
  const latencies: number[] = [];
  const unexpected: Record<string, number> = {};
  const startedAt = performance.now();
  const endAt = startedAt + seconds * 1000;
  const worker = async (): Promise<void> => {
    for (let shot = next(); shot && performance.now() < endAt; shot = next()) {
      const sentAt = performance.now();
      const { statusCode, body } = await pool.request({ method: shot.method, path: shot.path, headers: shot.headers, body: shot.body });
      await body.arrayBuffer();
      latencies.push(performance.now() - sentAt);
      if (statusCode !== expect) unexpected[statusCode] = (unexpected[statusCode] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  const elapsedSeconds = (performance.now() - startedAt) / 1000;
  await pool.close();
  latencies.sort((a, b) => a - b);
  const quantile = (q: number): number => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * q))] ?? 0;
  return { perSecond: latencies.length / elapsedSeconds, p50Ms: quantile(0.5), p95Ms: quantile(0.95), p99Ms: quantile(0.99), unexpected };
}
