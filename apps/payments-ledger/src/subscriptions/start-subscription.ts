import type { RequestContext } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Journal } from '../journal/journal.js';
import { subscriptionStarted } from '../journal/posting.js';
import { paidTo, splitOf, type SubscriptionPaymentRow } from '../payments/payment.js';
import { receiptsOf } from '../payments/receipt.js';
import { Subscriptions } from './subscriptions.js';

const findPayer = sql('authorizations.payer', 'SELECT payer FROM authorizations WHERE id = $1');
const complete = sql(
  'payments.complete-subscription',
  `WITH completed AS (
     UPDATE payments SET state = 'completed', completed_at = $2 WHERE id = $1
   )
   INSERT INTO receipts (id, payment_id, recipient_type, recipient_id, created_at)
   VALUES ($3, $1, 'buyer', $4, $2), ($5, $1, 'seller', $6, $2)`,
);

/**
 * Starts the subscription of a payment in the caller's transaction: payment, journal, receipts, subscription and event.
 */
@Injectable()
export class StartSubscription {
  constructor(
    private readonly journal: Journal,
    private readonly subscriptions: Subscriptions,
  ) {}

  /** @returns false if another subscription is active already. Nothing is changed then. */
  async execute(
    tx: Tx,
    payment: SubscriptionPaymentRow & { as_of: Date },
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
  ): Promise<boolean> {
    const { id: paymentId, buyer_id: consumerId, seller_id: sellerId, as_of: at } = payment;
    const started = await this.subscriptions.start(
      tx,
      {
        consumerId,
        sellerId,
        listing: { id: payment.listing_id, name: payment.listing_name, slug: payment.listing_slug },
        pricingModel: payment.pricing_model,
        priceMicros: BigInt(payment.gross_micros),
        paymentId,
      },
      context,
    );
    if (!started) return false;
    const [authorization] =
      payment.authorization_id === null ? [] : await tx.query<{ payer: string }>(findPayer, [payment.authorization_id]);
    const { buyer, seller } = receiptsOf(payment, at);
    const entry = subscriptionStarted({
      paymentId,
      buyerId: consumerId,
      sellerId,
      money: splitOf(payment),
      paid: paidTo(payment),
    });
    await this.journal.record(
      tx,
      [{ entry, payment, sale: { payer: authorization?.payer ?? null, buyer, seller } }],
      at,
    );
    await tx.query(complete, [paymentId, at, buyer.id, buyer.recipient_id, seller.id, seller.recipient_id]);
    return true;
  }
}
