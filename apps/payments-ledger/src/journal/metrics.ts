import { Counter } from 'prom-client';

/** Committed entries by type of posting and reason: `seller_credit` of `call_completed` is what calls were charged. */
export const postedMicros = new Counter({
  name: 'market_posted_micros_total',
  help: 'Micros of a US dollar credited by the journal, by reason of the entry and type of the posting',
  labelNames: ['reason', 'type'] as const,
});
