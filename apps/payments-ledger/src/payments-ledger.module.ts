import { MessageBus } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Module } from '@nestjs/common';
import { BooksMessageController } from './books/books.message-controller.js';
import { LedgerQuery } from './books/ledger.query.js';
import { PurchaseEvidenceQuery } from './books/purchase-evidence.query.js';
import { ReceiptSigner } from './books/receipt-signer.js';
import { ReceiptsQuery } from './books/receipts.query.js';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from './config.js';
import { Journal } from './journal/journal.js';
import { Authorizations } from './payments/authorizations.js';
import { ChargeCalls } from './payments/charge-calls.js';
import { ClaimHolders } from './payments/claim-holders.js';
import { ClaimPayment } from './payments/claim-payment.use-case.js';
import { ClaimSignedPayment } from './payments/claim-signed-payment.js';
import { CreateOffer } from './payments/create-offer.use-case.js';
import { ExpirePayments } from './payments/expire-payments.job.js';
import { HandleRelayWebhook } from './payments/handle-relay-webhook.use-case.js';
import { KeylessTermsSeal } from './payments/keyless-terms.js';
import { ReconcilePayment } from './payments/reconcile-payment.js';
import { Offers } from './payments/offers.js';
import { OpenKeylessPayment } from './payments/open-keyless-payment.use-case.js';
import { PaySandbox } from './payments/pay-sandbox.use-case.js';
import { PaymentQuery } from './payments/payment.query.js';
import { PaymentRoutes } from './payments/payment-routes.query.js';
import { PaymentsMessageController } from './payments/payments.message-controller.js';
import { QuoteExact } from './payments/quote-exact.query.js';
import { QuoteKeyless } from './payments/quote-keyless.query.js';
import { ReleasePayment } from './payments/release-payment.use-case.js';
import { OfferReceiptSigner } from './payments/offer-receipt-signer.js';
import { SettleAuthorization } from './payments/settle-authorization.js';
import { SettlePayment } from './payments/settle-payment.use-case.js';
import { PAYMENT_RAILS, type PaymentRail } from './rails/payment-rail.js';
import { configuredRails } from './rails/configured-rails.js';
import { SandboxRail } from './rails/sandbox/sandbox.rail.js';
import { SandboxFacilitator } from './rails/x402/sandbox-facilitator.js';
import { CancelSubscription } from './subscriptions/cancel-subscription.use-case.js';
import { CreatePayment } from './subscriptions/create-payment.use-case.js';
import { ExpireSubscriptions } from './subscriptions/expire-subscriptions.job.js';
import { OfferedListing } from './subscriptions/offered-listing.js';
import { Subscribe } from './subscriptions/subscribe.use-case.js';
import { SubscriptionOffers } from './subscriptions/subscription-offers.js';
import { SubscriptionsMessageController } from './subscriptions/subscriptions.message-controller.js';
import { SubscriptionsQuery } from './subscriptions/subscriptions.query.js';
import { Subscriptions } from './subscriptions/subscriptions.js';
import { VerifyPayment } from './subscriptions/verify-payment.use-case.js';

@Module({
  controllers: [PaymentsMessageController, SubscriptionsMessageController, BooksMessageController],
  providers: [
    Journal,
    Offers,
    CreateOffer,
    QuoteExact,
    OfferReceiptSigner,
    QuoteKeyless,
    OpenKeylessPayment,
    PaymentRoutes,
    Authorizations,
    SettleAuthorization,
    ChargeCalls,
    ReconcilePayment,
    ClaimHolders,
    ClaimPayment,
    ClaimSignedPayment,
    SettlePayment,
    ReleasePayment,
    PaySandbox,
    ExpirePayments,
    HandleRelayWebhook,
    PaymentQuery,
    OfferedListing,
    Subscriptions,
    SubscriptionOffers,
    Subscribe,
    CreatePayment,
    VerifyPayment,
    CancelSubscription,
    SubscriptionsQuery,
    ExpireSubscriptions,
    ReceiptsQuery,
    LedgerQuery,
    PurchaseEvidenceQuery,
    SandboxRail,
    SandboxFacilitator,
    {
      provide: ReceiptSigner,
      useFactory: ({ signingKeys }: PaymentsLedgerConfig) => ReceiptSigner.load(signingKeys),
      inject: [paymentsLedgerConfig.token],
    },
    {
      provide: KeylessTermsSeal,
      useFactory: ({ signingKeys }: PaymentsLedgerConfig) => new KeylessTermsSeal(signingKeys),
      inject: [paymentsLedgerConfig.token],
    },
    // A real rail comes first: on a network that both serve it is the one that was asked for.
    {
      provide: PAYMENT_RAILS,
      useFactory: (
        sandbox: SandboxRail,
        { paymentsMode }: ConfigOf<typeof platformConfig>,
        config: PaymentsLedgerConfig,
        bus: MessageBus,
      ): PaymentRail[] => [...configuredRails(config, bus), ...(paymentsMode === 'sandbox' ? [sandbox] : [])],
      inject: [SandboxRail, platformConfig.token, paymentsLedgerConfig.token, MessageBus],
    },
  ],
})
export class PaymentsLedgerModule {}
