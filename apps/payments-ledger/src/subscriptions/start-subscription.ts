import type { RequestContext } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Journal } from '../journal/journal.js';
import { subscriptionStarted } from '../journal/posting.js';
import { feeReceivedMicros, paidTo, splitOf, type SubscriptionPaymentRow } from '../payments/payment.js';
import { Subscriptions } from './subscriptions.js';

const findPayer = sql('authorizations.payer', 'SELECT payer FROM authorizations WHERE id = $1');
const complete = sql(
  'payments.complete-subscription',
  `UPDATE payments SET state = 'completed', completed_at = $2 WHERE id = $1`,
);

/**
 * Starts the subscription of a payment in the caller's transaction: payment, subscription, event and journal.
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
        includedCalls: payment.included_calls,
        includedUnits: payment.included_units,
        feeReceivedMicros: feeReceivedMicros(payment),
        paymentId,
      },
      context,
    );
    if (!started) return false;
    const [authorization] =
      payment.authorization_id === null ? [] : await tx.query<{ payer: string }>(findPayer, [payment.authorization_id]);
    tx.send(complete, [paymentId, at]);
    const entry = subscriptionStarted({
      paymentId,
      buyerId: consumerId,
      sellerId,
      money: splitOf(payment),
      paid: paidTo(payment),
    });
    this.journal.record(tx, [{ entry, payment, sale: { payer: authorization?.payer ?? null } }], at);
    return true;
  }
}
