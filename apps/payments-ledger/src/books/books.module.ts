import { Module } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { BalanceQuery } from './balance.query.js';
import { CheckpointBooks } from './checkpoint-books.job.js';
import { LedgerQuery } from './ledger.query.js';
import { PurchaseEvidenceQuery } from './purchase-evidence.query.js';
import { ReceiptSigner } from './receipt-signer.js';
import { StatementQuery } from './statement.query.js';
import { ReceiptsQuery } from './receipts.query.js';
import { ReportBooks } from './report-books.query.js';

@Module({
  providers: [
    ReceiptsQuery,
    LedgerQuery,
    BalanceQuery,
    ReportBooks,
    StatementQuery,
    PurchaseEvidenceQuery,
    CheckpointBooks,
    {
      provide: ReceiptSigner,
      useFactory: ({ signingKeys }: PaymentsLedgerConfig) => ReceiptSigner.load(signingKeys),
      inject: [paymentsLedgerConfig.token],
    },
  ],
  exports: [ReceiptSigner],
})
export class BooksModule {}
