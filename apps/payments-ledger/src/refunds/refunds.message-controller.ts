import type { InputOf } from '@market/contracts';
import { confirmRefund, listRefunds } from '@market/contracts/payments-ledger';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { ConfirmRefund } from './confirm-refund.use-case.js';
import { ListRefunds } from './list-refunds.query.js';

@Controller()
export class RefundsMessageController {
  constructor(
    private readonly listRefundsQuery: ListRefunds,
    private readonly confirmRefundUseCase: ConfirmRefund,
  ) {}

  @HandleRequest(listRefunds)
  listRefunds(input: InputOf<typeof listRefunds>, context: RequestContext) {
    return this.listRefundsQuery.execute(input, context);
  }

  @HandleRequest(confirmRefund)
  confirmRefund(input: InputOf<typeof confirmRefund>, context: RequestContext) {
    return this.confirmRefundUseCase.execute(input, context);
  }
}
