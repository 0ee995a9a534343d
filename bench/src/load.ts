import autocannon from 'autocannon';

export interface Shot {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface Measured {
  perSecond: number;
  p50Ms: number;
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

const IDLE: Shot = { method: 'GET', path: '/' };

/** A closed loop: each connection sends its next request when the last is answered. */
export async function fire(load: Load): Promise<Measured> {
  const unexpected: Record<string, number> = {};
  let dry = false;
  const toRequest = (shot: Shot): autocannon.Request => ({ method: shot.method, path: shot.path, headers: shot.headers, body: shot.body });
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    let answered = 0;
    let endedAt = 0;
    const instance = autocannon(
      {
        url: load.baseUrl,
        connections: load.connections,
        duration: load.seconds,
        requests: [
          {
            setupRequest: (request) => {
              const shot = dry ? undefined : load.next();
              if (!shot) {
                if (!dry) endedAt = performance.now();
                dry = true;
                setImmediate(() => (instance as unknown as { stop(): void }).stop());
              }
              return { ...request, ...toRequest(shot ?? IDLE) };
            },
            onResponse: (status) => {
              if (dry) return;
              answered += 1;
              if (status !== load.expect) unexpected[status] = (unexpected[status] ?? 0) + 1;
            },
          },
        ],
      },
      (error: unknown, result) => {
        if (error) return reject(error instanceof Error ? error : new Error(String(error)));
        const seconds = ((endedAt || performance.now()) - startedAt) / 1000;
        resolve({ perSecond: answered / seconds, p50Ms: result.latency.p50, p99Ms: result.latency.p99, unexpected });
      },
    );
  });
}
