import { Module } from '@nestjs/common';
import { BooksModule } from '../books/books.module.js';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { BudgetsModule } from '../budgets/budgets.module.js';
import { FeesModule } from '../fees/fees.module.js';
import { JournalModule } from '../journal/journal.module.js';
import { RailsModule } from '../rails/rails.module.js';
import { Authorizations } from './authorizations.js';
import { ChargeCalls } from './charge-calls.js';
import { AuthorizePayment } from './authorize-payment.use-case.js';
import { AuthorizeSignedPayment } from './authorize-signed-payment.js';
import { CollectPayment } from './collect-payment.use-case.js';
import { CreateOffer } from './create-offer.use-case.js';
import { KeepOffers } from './keep-offers.job.js';
import { ExpirePayments } from './expire-payments.job.js';
import { OfferTokens } from './keyless-terms.js';
import { ReconcilePayment } from './reconcile-payment.js';
import { Offers } from './offers.js';
import { OpenKeylessPayment } from './open-keyless-payment.use-case.js';
import { PayFees } from './pay-fees.use-case.js';
import { PaySandbox } from './pay-sandbox.use-case.js';
import { PaymentRoutes } from './payment-routes.query.js';
import { PaymentQuery } from './payment.query.js';
import { QuoteExact } from './quote-exact.query.js';
import { QuoteKeyless } from './quote-keyless.query.js';
import { TakeIncludedCall } from '../quotas/take-included-call.use-case.js';
import { ReleasePayment } from './release-payment.use-case.js';
import { SamplePayments } from './sample-payments.job.js';
import { SettleAuthorization } from './settle-authorization.js';
import { UnstoredOffers } from './unstored-offers.js';
import { StartSubscription } from '../subscriptions/start-subscription.js';
import { Subscriptions } from '../subscriptions/subscriptions.js';
import { SettlePayment } from './settle-payment.use-case.js';
import { OfferReceiptSigner } from './offer-receipt-signer.js';

@Module({
  imports: [BooksModule, BudgetsModule, FeesModule, JournalModule, RailsModule],
  providers: [
    Offers,
    CreateOffer,
    TakeIncludedCall,
    UnstoredOffers,
    QuoteExact,
    OfferReceiptSigner,
    QuoteKeyless,
    OpenKeylessPayment,
    PaymentRoutes,
    Authorizations,
    SettleAuthorization,
    ChargeCalls,
    Subscriptions,
    StartSubscription,
    ReconcilePayment,
    AuthorizePayment,
    AuthorizeSignedPayment,
    SettlePayment,
    CollectPayment,
    ReleasePayment,
    PaySandbox,
    PayFees,
    ExpirePayments,
    KeepOffers,
    SamplePayments,
    PaymentQuery,
    {
      provide: OfferTokens,
      useFactory: ({ signingKeys }: PaymentsLedgerConfig) => new OfferTokens(signingKeys),
      inject: [paymentsLedgerConfig.token],
    },
  ],
  exports: [
    Authorizations,
    Offers,
    PaymentQuery,
    PaySandbox,
    ReconcilePayment,
    SettleAuthorization,
    StartSubscription,
    Subscriptions,
  ],
})
export class PaymentsModule {}
