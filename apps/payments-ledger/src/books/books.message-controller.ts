import { getReceipt, listLedger, listReceipts } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { HandleRequest, type Call } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { LedgerQuery } from './ledger.query.js';
import { ReceiptsQuery } from './receipts.query.js';

/** Each of these is one statement, and a second for the exact total of a list. */
@Controller()
export class BooksMessageController {
  constructor(
    private readonly receipts: ReceiptsQuery,
    private readonly ledger: LedgerQuery,
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
}
