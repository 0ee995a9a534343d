import { Counter, Gauge } from 'prom-client';

/**
 * The outcomes of settlements that facilitators and chains report: `settled`, `refused`, or `unknown`, which is tried
 * again.
 */
export const settlements = new Counter({
  name: 'market_settlements_total',
  help: 'Settlements of signed payments by rail, network and outcome',
  labelNames: ['rail', 'network', 'outcome'] as const,
});

/**
 * Each process of the ledger reads the gauges below from the database, so the value of a gauge is the maximum over all
 * processes.
 */
export const overduePayments = new Gauge({
  name: 'market_overdue_payments',
  help: 'Payments by state that a job should have ended more than ten minutes ago; payments report says why they are open',
  labelNames: ['state'] as const,
});

export const oldestDueSeconds = new Gauge({
  name: 'market_due_payments_oldest_seconds',
  help: 'How long ago the oldest payment of a state should have expired or been owed back; 0 where none is due',
  labelNames: ['state'] as const,
});

export const refundsDue = new Gauge({
  name: 'market_refunds_due',
  help: 'Payments that are owed back to their buyers, by rail',
  labelNames: ['rail'] as const,
});

export const refundsDueMicros = new Gauge({
  name: 'market_refunds_due_micros',
  help: 'What buyers are owed back by the books, in micros of a US dollar',
});

export const feesDueMicros = new Gauge({
  name: 'market_fees_due_micros',
  help: 'What sellers owe of fees by the books, in micros of a US dollar',
});

export const unexplainedMicros = new Gauge({
  name: 'market_unexplained_micros',
  help:
    'The sum of all balances of the books, which is zero, ' +
    'and the prices of payments whose settlement chains or providers do not confirm',
});

export const oldestSettlementSeconds = new Gauge({
  name: 'market_open_settlement_oldest_seconds',
  help: 'Age of the oldest signed payment of a network that is being settled',
  labelNames: ['network'] as const,
});
