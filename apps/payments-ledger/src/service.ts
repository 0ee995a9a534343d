import { defineService } from '@market/runtime';
import { reportBooks } from './books/report-books.command.js';
import { verifyBooks } from './books/verify-books.command.js';
import { paymentsLedgerConfig } from './config.js';
import { paymentsLedgerDatabase } from './database.js';
import { endPayment } from './payments/end-payment.command.js';
import { reportPayments } from './payments/report-payments.command.js';
import { PaymentsLedgerModule } from './payments-ledger.module.js';
import { confirmPayouts, exportPayouts } from './payouts/payouts.commands.js';
import { railChecks } from './rails/rail-checks.js';
import { reconcileBooks } from './reconciliation/reconcile-books.command.js';
import { refundsConfirm } from './refunds/refunds-confirm.command.js';

export const paymentsLedger = defineService({
  name: 'payments-ledger',
  module: PaymentsLedgerModule,
  config: paymentsLedgerConfig,
  database: paymentsLedgerDatabase,
  checks: railChecks,
  commands: [
    verifyBooks,
    reconcileBooks,
    reportBooks,
    reportPayments,
    endPayment,
    exportPayouts,
    confirmPayouts,
    refundsConfirm,
  ],
});
