import { claimPayment, createOffer, listPaymentRoutes, paySandbox, quoteExact, releasePayment, settlePayment } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { HandleRequest, type Call } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { ClaimPayment } from './claim-payment.use-case.js';
import { CreateOffer } from './create-offer.use-case.js';
import { PaySandbox } from './pay-sandbox.use-case.js';
import { PaymentRoutes } from './payment-routes.query.js';
import { QuoteExact } from './quote-exact.query.js';
import { ReleasePayment } from './release-payment.use-case.js';
import { SettlePayment } from './settle-payment.use-case.js';

@Controller()
export class PaymentsMessageController {
  constructor(
    private readonly createOfferUseCase: CreateOffer,
    private readonly quoteExactQuery: QuoteExact,
    private readonly paymentRoutes: PaymentRoutes,
    private readonly claimPaymentUseCase: ClaimPayment,
    private readonly settlePaymentUseCase: SettlePayment,
    private readonly releasePaymentUseCase: ReleasePayment,
    private readonly paySandboxUseCase: PaySandbox,
  ) {}

  /** One statement, one shared commit; four more and a commit where an earlier offer has just run out. */
  @HandleRequest(createOffer)
  createOffer(input: InputOf<typeof createOffer>, call: Call): Promise<OutputOf<typeof createOffer>> {
    return this.createOfferUseCase.execute(input, call);
  }

  /** No statement. */
  @HandleRequest(quoteExact)
  quoteExact(input: InputOf<typeof quoteExact>): Promise<OutputOf<typeof quoteExact>> {
    return this.quoteExactQuery.execute(input);
  }

  /** No statement. */
  @HandleRequest(listPaymentRoutes)
  listPaymentRoutes(): Promise<OutputOf<typeof listPaymentRoutes>> {
    return this.paymentRoutes.list();
  }

  /** One statement, one shared commit; a look at the rail, in four statements and a commit, where the payment is not simply verified. */
  @HandleRequest(claimPayment)
  claimPayment(input: InputOf<typeof claimPayment>, call: Call): Promise<OutputOf<typeof claimPayment>> {
    return this.claimPaymentUseCase.execute(input, call);
  }

  /** Six statements, one shared commit. */
  @HandleRequest(settlePayment)
  settlePayment(input: InputOf<typeof settlePayment>, call: Call): Promise<OutputOf<typeof settlePayment>> {
    return this.settlePaymentUseCase.execute(input, call);
  }

  @HandleRequest(releasePayment)
  releasePayment(input: InputOf<typeof releasePayment>): Promise<OutputOf<typeof releasePayment>> {
    return this.releasePaymentUseCase.execute(input);
  }

  @HandleRequest(paySandbox)
  paySandbox(input: InputOf<typeof paySandbox>, call: Call): Promise<OutputOf<typeof paySandbox>> {
    return this.paySandboxUseCase.execute(input, call);
  }
}
