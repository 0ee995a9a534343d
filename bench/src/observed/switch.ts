import { Logger } from '@nestjs/common';
import { startTracing } from '@market/tracing';
import { Counter, Histogram } from 'prom-client';

/**
 * Loaded into the marketplace's process by the bench alone. Each SIGUSR2 takes it to the next of these, so that one process, with the same
 * compiled code and the same data, is measured with and without.
 */
const STATES = ['nothing', 'metrics', 'metrics and logs', 'traces of failures', 'all traces'] as const;

const nothing = (): void => undefined;
const counting = {
  inc: Counter.prototype.inc,
  observe: Histogram.prototype.observe,
  start: Histogram.prototype.startTimer,
};
const { log } = Logger.prototype;
let stopTracing: (() => Promise<void>) | undefined;
let state = 0;

function become(name: (typeof STATES)[number]): void {
  const counts = name !== 'nothing';
  Counter.prototype.inc = counts ? counting.inc : nothing;
  Histogram.prototype.observe = counts ? counting.observe : nothing;
  Histogram.prototype.startTimer = counts ? counting.start : () => () => 0;
  Logger.prototype.log = name === 'nothing' || name === 'metrics' ? nothing : log;
  void stopTracing?.();
  stopTracing = undefined;
  if (name === 'traces of failures' || name === 'all traces')
    stopTracing = startTracing({
      endpoint: process.env.BENCH_COLLECTOR_URL!,
      headers: {},
      ratio: name === 'all traces' ? 1 : 0,
      resource: { 'service.name': 'bench' },
      warn: (message) => void process.stderr.write(`${message}\n`),
    });
}

become('nothing');
process.on('SIGUSR2', () => become(STATES[(state = (state + 1) % STATES.length)]!));
