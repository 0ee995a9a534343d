import { platformConfig, type ConfigOf } from '@market/runtime';
import { Module } from '@nestjs/common';
import { BooksMessageController } from './books/books.message-controller.js';
import { LedgerQuery } from './books/ledger.query.js';
import { ReceiptsQuery } from './books/receipts.query.js';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from './config.js';
import { Journal } from './journal/journal.js';
import { ClaimPayment } from './payments/claim-payment.use-case.js';
import { CreateOffer } from './payments/create-offer.use-case.js';
import { ExpirePayments } from './payments/expire-payments.job.js';
import { ObservePayment } from './payments/observe-payment.js';
import { PaySandbox } from './payments/pay-sandbox.use-case.js';
import { PaymentsMessageController } from './payments/payments.message-controller.js';
import { ReleasePayment } from './payments/release-payment.use-case.js';
import { SettlePayment } from './payments/settle-payment.use-case.js';
import { PAYMENT_RAILS, type PaymentRail } from './rails/payment-rail.js';
import { fixedPriceFeed, PRICE_FEED } from './rails/price-feed.js';
import { SandboxRail } from './rails/sandbox/sandbox.rail.js';

@Module({
  controllers: [PaymentsMessageController, BooksMessageController],
  providers: [
    Journal,
    CreateOffer,
    ObservePayment,
    ClaimPayment,
    SettlePayment,
    ReleasePayment,
    PaySandbox,
    ExpirePayments,
    ReceiptsQuery,
    LedgerQuery,
    SandboxRail,
    {
      provide: PAYMENT_RAILS,
      useFactory: (sandbox: SandboxRail, platform: ConfigOf<typeof platformConfig>): PaymentRail[] => (platform.paymentsMode === 'sandbox' ? [sandbox] : []),
      inject: [SandboxRail, platformConfig.token],
    },
    {
      provide: PRICE_FEED,
      useFactory: (config: PaymentsLedgerConfig) => fixedPriceFeed({ ETH: BigInt(config.ethPriceMicros), SOL: BigInt(config.solPriceMicros) }),
      inject: [paymentsLedgerConfig.token],
    },
  ],
})
export class PaymentsLedgerModule {}
