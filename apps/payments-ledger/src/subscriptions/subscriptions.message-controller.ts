import type { InputOf, OutputOf } from '@market/contracts';
import {
  cancelSubscription,
  createPayment,
  getPayment,
  getSubscription,
  listSubscriptions,
  subscribe,
  verifyPayment,
} from '@market/contracts/payments-ledger';
import { HandleRequest, type Call } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { PaymentQuery } from '../payments/payment.query.js';
import { CancelSubscription } from './cancel-subscription.use-case.js';
import { CreatePayment } from './create-payment.use-case.js';
import { Subscribe } from './subscribe.use-case.js';
import { SubscriptionsQuery } from './subscriptions.query.js';
import { VerifyPayment } from './verify-payment.use-case.js';

/** What each costs is counted at its use case; each read is one statement, and a second for the exact total of a list. */
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
  subscribe(input: InputOf<typeof subscribe>, call: Call): Promise<OutputOf<typeof subscribe>> {
    return this.subscribeUseCase.execute(input, call);
  }

  @HandleRequest(createPayment)
  createPayment(input: InputOf<typeof createPayment>, call: Call): Promise<OutputOf<typeof createPayment>> {
    return this.createPaymentUseCase.execute(input, call);
  }

  @HandleRequest(getPayment)
  getPayment(input: InputOf<typeof getPayment>, call: Call): Promise<OutputOf<typeof getPayment>> {
    return this.payments.get(input, call);
  }

  @HandleRequest(verifyPayment)
  verifyPayment(input: InputOf<typeof verifyPayment>, call: Call): Promise<OutputOf<typeof verifyPayment>> {
    return this.verifyPaymentUseCase.execute(input, call);
  }

  @HandleRequest(listSubscriptions)
  listSubscriptions(input: InputOf<typeof listSubscriptions>, call: Call): Promise<OutputOf<typeof listSubscriptions>> {
    return this.subscriptions.list(input, call);
  }

  @HandleRequest(getSubscription)
  getSubscription(input: InputOf<typeof getSubscription>, call: Call): Promise<OutputOf<typeof getSubscription>> {
    return this.subscriptions.get(input, call);
  }

  @HandleRequest(cancelSubscription)
  cancelSubscription(
    input: InputOf<typeof cancelSubscription>,
    call: Call,
  ): Promise<OutputOf<typeof cancelSubscription>> {
    return this.cancelSubscriptionUseCase.execute(input, call);
  }
}
