import {
  getPurchaseEvidence,
  getReceipt,
  getReceiptProof,
  listLedger,
  listReceipts,
  listSigningKeys,
} from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { HandleRequest, type Call } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { LedgerQuery } from './ledger.query.js';
import { PurchaseEvidenceQuery } from './purchase-evidence.query.js';
import { ReceiptSigner } from './receipt-signer.js';
import { ReceiptsQuery } from './receipts.query.js';

/** Each of these is one statement, and a second for the exact total of a list or the check of a proof. */
@Controller()
export class BooksMessageController {
  constructor(
    private readonly receipts: ReceiptsQuery,
    private readonly ledger: LedgerQuery,
    private readonly evidence: PurchaseEvidenceQuery,
    private readonly signer: ReceiptSigner,
  ) {}

  @HandleRequest(listReceipts)
  listReceipts(input: InputOf<typeof listReceipts>, call: Call): Promise<OutputOf<typeof listReceipts>> {
    return this.receipts.list(input, call);
  }

  @HandleRequest(getReceipt)
  getReceipt(input: InputOf<typeof getReceipt>, call: Call): Promise<OutputOf<typeof getReceipt>> {
    return this.receipts.get(input, call);
  }

  @HandleRequest(listLedger)
  listLedger(input: InputOf<typeof listLedger>, call: Call): Promise<OutputOf<typeof listLedger>> {
    return this.ledger.list(input, call);
  }

  @HandleRequest(getReceiptProof)
  getReceiptProof(input: InputOf<typeof getReceiptProof>, call: Call): Promise<OutputOf<typeof getReceiptProof>> {
    return this.receipts.prove(input, call);
  }

  /** No statement: the keys are the configuration's. */
  @HandleRequest(listSigningKeys)
  async listSigningKeys(): Promise<OutputOf<typeof listSigningKeys>> {
    return { keys: this.signer.publicKeys };
  }

  @HandleRequest(getPurchaseEvidence)
  getPurchaseEvidence(input: InputOf<typeof getPurchaseEvidence>): Promise<OutputOf<typeof getPurchaseEvidence>> {
    return this.evidence.find(input);
  }
}
