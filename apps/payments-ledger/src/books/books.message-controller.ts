import {
  getBalance,
  getPurchaseEvidence,
  getReceipt,
  getReceiptProof,
  getStatement,
  listLedger,
  listReceipts,
  listSigningKeys,
  reportBooks,
} from '@market/contracts/payments-ledger';
import type { InputOf } from '@market/contracts';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { BalanceQuery } from './balance.query.js';
import { LedgerQuery } from './ledger.query.js';
import { PurchaseEvidenceQuery } from './purchase-evidence.query.js';
import { ReceiptSigner } from './receipt-signer.js';
import { ReceiptsQuery } from './receipts.query.js';
import { ReportBooks } from './report-books.query.js';
import { StatementQuery } from './statement.query.js';

/** Answers requests about receipts, the ledger and balances. */
@Controller()
export class BooksMessageController {
  constructor(
    private readonly receipts: ReceiptsQuery,
    private readonly ledger: LedgerQuery,
    private readonly statements: StatementQuery,
    private readonly balance: BalanceQuery,
    private readonly evidence: PurchaseEvidenceQuery,
    private readonly report: ReportBooks,
    private readonly signer: ReceiptSigner,
  ) {}

  @HandleRequest(listReceipts)
  listReceipts(input: InputOf<typeof listReceipts>, context: RequestContext) {
    return this.receipts.list(input, context);
  }

  @HandleRequest(getReceipt)
  getReceipt(input: InputOf<typeof getReceipt>, context: RequestContext) {
    return this.receipts.get(input, context);
  }

  @HandleRequest(listLedger)
  listLedger(input: InputOf<typeof listLedger>, context: RequestContext) {
    return this.ledger.list(input, context);
  }

  @HandleRequest(getStatement)
  getStatement(input: InputOf<typeof getStatement>, context: RequestContext) {
    return this.statements.get(input, context);
  }

  @HandleRequest(getBalance)
  getBalance(_input: InputOf<typeof getBalance>, context: RequestContext) {
    return this.balance.get(context);
  }

  @HandleRequest(reportBooks)
  reportBooks(input: InputOf<typeof reportBooks>) {
    return this.report.get(input);
  }

  @HandleRequest(getReceiptProof)
  getReceiptProof(input: InputOf<typeof getReceiptProof>, context: RequestContext) {
    return this.receipts.prove(input, context);
  }

  @HandleRequest(listSigningKeys)
  async listSigningKeys() {
    return { keys: this.signer.publicKeys };
  }

  @HandleRequest(getPurchaseEvidence)
  getPurchaseEvidence(input: InputOf<typeof getPurchaseEvidence>) {
    return this.evidence.find(input);
  }
}
