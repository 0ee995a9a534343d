import { Counter } from 'prom-client';

/** What facilitators and chains said of signed payments: `settled`, `refused`, or `unknown`, which is asked again. */
export const settlements = new Counter({
  name: 'market_settlements_total',
  help: 'Settlements of signed payments by rail, network and outcome',
  labelNames: ['rail', 'network', 'outcome'] as const,
});
