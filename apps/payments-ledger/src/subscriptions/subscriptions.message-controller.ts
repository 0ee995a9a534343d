import type { InputOf } from '@market/contracts';
import {
  cancelSubscription,
  createPayment,
  getPayment,
  getSubscription,
  listSubscriptions,
  subscribe,
  verifyPayment,
} from '@market/contracts/payments-ledger';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { PaymentQuery } from '../payments/payment.query.js';
import { CancelSubscription } from './cancel-subscription.use-case.js';
import { CreatePayment } from './create-payment.use-case.js';
import { Subscribe } from './subscribe.use-case.js';
import { SubscriptionsQuery } from './subscriptions.query.js';
import { VerifyPayment } from './verify-payment.use-case.js';

@Controller()
export class SubscriptionsMessageController {
  constructor(
    private readonly subscribeUseCase: Subscribe,
    private readonly createPaymentUseCase: CreatePayment,
    private readonly verifyPaymentUseCase: VerifyPayment,
    private readonly cancelSubscriptionUseCase: CancelSubscription,
    private readonly subscriptions: SubscriptionsQuery,
    private readonly payments: PaymentQuery,
  ) {}

  @HandleRequest(subscribe)
  subscribe(input: InputOf<typeof subscribe>, context: RequestContext) {
    return this.subscribeUseCase.execute(input, context);
  }

  @HandleRequest(createPayment)
  createPayment(input: InputOf<typeof createPayment>, context: RequestContext) {
    return this.createPaymentUseCase.execute(input, context);
  }

  @HandleRequest(getPayment)
  getPayment(input: InputOf<typeof getPayment>, context: RequestContext) {
    return this.payments.get(input, context);
  }

  @HandleRequest(verifyPayment)
  verifyPayment(input: InputOf<typeof verifyPayment>, context: RequestContext) {
    return this.verifyPaymentUseCase.execute(input, context);
  }

  @HandleRequest(listSubscriptions)
  listSubscriptions(input: InputOf<typeof listSubscriptions>, context: RequestContext) {
    return this.subscriptions.list(input, context);
  }

  @HandleRequest(getSubscription)
  getSubscription(input: InputOf<typeof getSubscription>, context: RequestContext) {
    return this.subscriptions.get(input, context);
  }

  @HandleRequest(cancelSubscription)
  cancelSubscription(input: InputOf<typeof cancelSubscription>, context: RequestContext) {
    return this.cancelSubscriptionUseCase.execute(input, context);
  }
}
