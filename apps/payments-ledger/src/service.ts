import { defineService } from '@market/runtime';
import { verifyBooks } from './books/verify-books.command.js';
import { paymentsLedgerConfig } from './config.js';
import { paymentsLedgerDatabase } from './database.js';
import { reportPayments } from './payments/report-payments.command.js';
import { PaymentsLedgerModule } from './payments-ledger.module.js';
import { railChecks } from './rails/rail-checks.js';

export const paymentsLedger = defineService({
  name: 'payments-ledger',
  module: PaymentsLedgerModule,
  config: paymentsLedgerConfig,
  database: paymentsLedgerDatabase,
  checks: railChecks,
  commands: [verifyBooks, reportPayments],
});
