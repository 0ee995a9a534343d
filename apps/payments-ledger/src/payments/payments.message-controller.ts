import {
  claimPayment,
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
import { ClaimPayment } from './claim-payment.use-case.js';
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
    private readonly quoteKeylessQuery: QuoteKeyless,
    private readonly openKeylessPaymentUseCase: OpenKeylessPayment,
    private readonly paymentRoutes: PaymentRoutes,
    private readonly claimPaymentUseCase: ClaimPayment,
    private readonly settlePaymentUseCase: SettlePayment,
    private readonly releasePaymentUseCase: ReleasePayment,
    private readonly paySandboxUseCase: PaySandbox,
    private readonly payFeesUseCase: PayFees,
    private readonly handleRelayWebhookUseCase: HandleRelayWebhook,
  ) {}

  /** One statement, one shared commit; one more where the offer is there or the buyer's open ones are counted, four more and a commit where an earlier one has just run out; a bus request for a seller that was not asked for lately. */
  @HandleRequest(createOffer)
  createOffer(input: InputOf<typeof createOffer>, context: RequestContext) {
    return this.createOfferUseCase.execute(input, context);
  }

  /** No statement; a bus request for sellers that were not asked for lately. */
  @HandleRequest(quoteExact)
  quoteExact(input: InputOf<typeof quoteExact>, context: RequestContext) {
    return this.quoteExactQuery.execute(input, context);
  }

  /** No statement; a bus request for a seller that was not asked for lately. */
  @HandleRequest(quoteKeyless)
  quoteKeyless(input: InputOf<typeof quoteKeyless>, context: RequestContext) {
    return this.quoteKeylessQuery.execute(input, context);
  }

  /** Three statements and a commit, one where the payment is there; a bus hop for a wallet that did not pay lately. */
  @HandleRequest(openKeylessPayment)
  openKeylessPayment(input: InputOf<typeof openKeylessPayment>, context: RequestContext) {
    return this.openKeylessPaymentUseCase.execute(input, context);
  }

  /** No statement. */
  @HandleRequest(listPaymentRoutes)
  async listPaymentRoutes() {
    return this.paymentRoutes.list();
  }

  /** One statement, one shared commit; a look at the rail, in four statements and a commit, where the payment is not simply verified; six and a commit where a signature pays. */
  @HandleRequest(claimPayment)
  claimPayment(input: InputOf<typeof claimPayment>, context: RequestContext) {
    return this.claimPaymentUseCase.execute(input, context);
  }

  /** Six statements in four round trips, one shared commit; nine and two commits of its own where a signature pays. */
  @HandleRequest(settlePayment)
  settlePayment(input: InputOf<typeof settlePayment>, context: RequestContext) {
    return this.settlePaymentUseCase.execute(input, context);
  }

  @HandleRequest(releasePayment)
  releasePayment(input: InputOf<typeof releasePayment>) {
    return this.releasePaymentUseCase.execute(input);
  }

  @HandleRequest(paySandbox)
  paySandbox(input: InputOf<typeof paySandbox>, context: RequestContext) {
    return this.paySandboxUseCase.execute(input, context);
  }

  /** One statement without a signature; with one 15 and two commits, and the facilitator is asked twice. */
  @HandleRequest(payFees)
  payFees(input: InputOf<typeof payFees>, context: RequestContext) {
    return this.payFeesUseCase.execute(input, context);
  }

  @HandleRequest(handleRelayWebhook)
  handleRelayWebhook(input: InputOf<typeof handleRelayWebhook>, context: RequestContext) {
    return this.handleRelayWebhookUseCase.execute(input, context);
  }
}
