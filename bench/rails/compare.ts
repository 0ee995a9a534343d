/** One thing a rail does beside the bare call that it cannot do without. */
export interface Compared {
  what: string;
  bare: string;
  bareMs: Quantiles;
  oursMs: Quantiles;
}

interface Quantiles {
  p50: number;
  p99: number;
}

const WARM_UPS = 20;

/** One after the other and in turns, so that what else the machine does meets both alike. `n` counts through warm-up and measure. */
export async function compare(times: number, what: string, bare: string, askBare: (n: number) => Promise<unknown>, askOurs: (n: number) => Promise<unknown>): Promise<Compared> {
  const [bareMs, oursMs]: [number[], number[]] = [[], []];
  for (let n = 0; n < WARM_UPS + times; n += 1) {
    const [first, second] = [await timed(() => askBare(n)), await timed(() => askOurs(n))];
    if (n < WARM_UPS) continue;
    bareMs.push(first);
    oursMs.push(second);
  }
  return { what, bare, bareMs: quantiles(bareMs), oursMs: quantiles(oursMs) };
}

/** What `compare` asks for in all. */
export const countOf = (times: number): number => WARM_UPS + times;

async function timed(ask: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await ask();
  return performance.now() - startedAt;
}

function quantiles(values: number[]): Quantiles {
  values.sort((a, b) => a - b);
  const at = (q: number): number => values[Math.min(values.length - 1, Math.floor(values.length * q))]!;
  return { p50: at(0.5), p99: at(0.99) };
}
