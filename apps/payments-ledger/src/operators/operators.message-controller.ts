import type { InputOf } from '@market/contracts';
import { findPayments, getMoneyOverview, inspectPayment } from '@market/contracts/payments-ledger';
import { HandleRequest, operatorOf, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { FindPayments } from './find-payments.query.js';
import { MoneyOverview } from './money-overview.query.js';

@Controller()
export class OperatorsMessageController {
  constructor(
    private readonly payments: FindPayments,
    private readonly overview: MoneyOverview,
  ) {}

  @HandleRequest(findPayments)
  findPayments(input: InputOf<typeof findPayments>, context: RequestContext) {
    operatorOf(context);
    return this.payments.find(input);
  }

  @HandleRequest(inspectPayment)
  inspectPayment({ paymentId }: InputOf<typeof inspectPayment>, context: RequestContext) {
    operatorOf(context);
    return this.payments.inspect(paymentId);
  }

  @HandleRequest(getMoneyOverview)
  getMoneyOverview(_input: InputOf<typeof getMoneyOverview>, context: RequestContext) {
    operatorOf(context);
    return this.overview.get();
  }
}
