import { Module } from '@nestjs/common';
import { BudgetsModule } from '../budgets/budgets.module.js';
import { PaymentsModule } from '../payments/payments.module.js';
import { CancelSubscription } from './cancel-subscription.use-case.js';
import { CreatePayment } from './create-payment.use-case.js';
import { ExpireSubscriptions } from './expire-subscriptions.job.js';
import { OfferedListing } from './offered-listing.js';
import { Subscribe } from './subscribe.use-case.js';
import { SubscriptionOffers } from './subscription-offers.js';
import { SubscriptionsQuery } from './subscriptions.query.js';
import { VerifyPayment } from './verify-payment.use-case.js';

@Module({
  imports: [BudgetsModule, PaymentsModule],
  providers: [
    OfferedListing,
    SubscriptionOffers,
    Subscribe,
    CreatePayment,
    VerifyPayment,
    CancelSubscription,
    SubscriptionsQuery,
    ExpireSubscriptions,
  ],
})
export class SubscriptionsModule {}
