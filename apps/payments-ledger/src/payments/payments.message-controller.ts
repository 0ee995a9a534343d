import {
  authorizePayment,
  checkPayable,
  findUnpayableSellers,
  createOffer,
  handleRelayWebhook,
  listPaymentRoutes,
  payFees,
  paySandbox,
  openKeylessPayment,
  quoteExact,
  quoteKeyless,
  releasePayment,
  settlePayment,
} from '@market/contracts/payments-ledger';
import type { InputOf } from '@market/contracts';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { CheckPayable } from '../rails/check-payable.query.js';
import { AuthorizePayment } from './authorize-payment.use-case.js';
import { CreateOffer } from './create-offer.use-case.js';
import { HandleRelayWebhook } from './handle-relay-webhook.use-case.js';
import { OpenKeylessPayment } from './open-keyless-payment.use-case.js';
import { PayFees } from './pay-fees.use-case.js';
import { PaySandbox } from './pay-sandbox.use-case.js';
import { PaymentRoutes } from './payment-routes.query.js';
import { QuoteExact } from './quote-exact.query.js';
import { QuoteKeyless } from './quote-keyless.query.js';
import { ReleasePayment } from './release-payment.use-case.js';
import { SettlePayment } from './settle-payment.use-case.js';

@Controller()
export class PaymentsMessageController {
  constructor(
    private readonly createOfferUseCase: CreateOffer,
    private readonly quoteExactQuery: QuoteExact,
    private readonly checkPayableQuery: CheckPayable,
    private readonly quoteKeylessQuery: QuoteKeyless,
    private readonly openKeylessPaymentUseCase: OpenKeylessPayment,
    private readonly paymentRoutes: PaymentRoutes,
    private readonly authorizePaymentUseCase: AuthorizePayment,
    private readonly settlePaymentUseCase: SettlePayment,
    private readonly releasePaymentUseCase: ReleasePayment,
    private readonly paySandboxUseCase: PaySandbox,
    private readonly payFeesUseCase: PayFees,
    private readonly handleRelayWebhookUseCase: HandleRelayWebhook,
  ) {}

  /**
   * A new quote costs one statement in a shared commit. For a seller that was not looked up recently, it also costs a
   * bus request.
   */
  @HandleRequest(createOffer)
  createOffer(input: InputOf<typeof createOffer>, context: RequestContext) {
    return this.createOfferUseCase.execute(input, context);
  }

  /** No statement. For sellers that were not looked up recently, a bus request. */
  @HandleRequest(quoteExact)
  quoteExact(input: InputOf<typeof quoteExact>, context: RequestContext) {
    return this.quoteExactQuery.execute(input, context);
  }

  /** No statement. A bus request for each type of chain. */
  @HandleRequest(checkPayable)
  checkPayable(input: InputOf<typeof checkPayable>, context: RequestContext) {
    return this.checkPayableQuery.execute(input, context);
  }

  /** No statement. Some bus requests for each type of chain. */
  @HandleRequest(findUnpayableSellers)
  async findUnpayableSellers({ sellerIds }: InputOf<typeof findUnpayableSellers>, context: RequestContext) {
    return { sellerIds: await this.checkPayableQuery.unpayableOf(sellerIds, context) };
  }

  /** No statement. For a seller that was not looked up recently, a bus request. */
  @HandleRequest(quoteKeyless)
  quoteKeyless(input: InputOf<typeof quoteKeyless>, context: RequestContext) {
    return this.quoteKeylessQuery.execute(input, context);
  }

  /**
   * A new payment costs two statements, a request to the facilitator, and one transaction of five statements, which also
   * authorizes its call. For a wallet that did not pay recently, it also costs a bus request.
   */
  @HandleRequest(openKeylessPayment)
  openKeylessPayment(input: InputOf<typeof openKeylessPayment>, context: RequestContext) {
    return this.openKeylessPaymentUseCase.execute(input, context);
  }

  @HandleRequest(listPaymentRoutes)
  async listPaymentRoutes() {
    return this.paymentRoutes.list();
  }

  /**
   * A payment that has arrived costs one shared look-up. A signature costs two statements, a request to the facilitator,
   * and one transaction of five statements.
   */
  @HandleRequest(authorizePayment)
  authorizePayment(input: InputOf<typeof authorizePayment>, context: RequestContext) {
    return this.authorizePaymentUseCase.execute(input, context);
  }

  /**
   * A transfer costs six statements in three round trips and one shared commit. A signed payment costs eight statements
   * and two shared commits.
   */
  @HandleRequest(settlePayment)
  settlePayment(input: InputOf<typeof settlePayment>, context: RequestContext) {
    return this.settlePaymentUseCase.execute(input, context);
  }

  @HandleRequest(releasePayment)
  releasePayment(input: InputOf<typeof releasePayment>, context: RequestContext) {
    return this.releasePaymentUseCase.execute(input, context);
  }

  @HandleRequest(paySandbox)
  paySandbox(input: InputOf<typeof paySandbox>, context: RequestContext) {
    return this.paySandboxUseCase.execute(input, context);
  }

  @HandleRequest(payFees)
  payFees(input: InputOf<typeof payFees>, context: RequestContext) {
    return this.payFeesUseCase.execute(input, context);
  }

  @HandleRequest(handleRelayWebhook)
  handleRelayWebhook(input: InputOf<typeof handleRelayWebhook>, context: RequestContext) {
    return this.handleRelayWebhookUseCase.execute(input, context);
  }
}
