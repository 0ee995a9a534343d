import type { PayloadOf } from '@market/contracts';
import { paymentRefundDue, paymentRefunded, refundOverdue } from '@market/contracts/payments-ledger';
import { centsNumber } from '@market/kernel';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';
import { AccountEvents, type NewEvent } from '../events/account-events.js';

type Refund = PayloadOf<typeof paymentRefundDue> | PayloadOf<typeof paymentRefunded>;

const record = sql(
  'refund-facts.record',
  'INSERT INTO refund_facts SELECT * FROM jsonb_populate_recordset(NULL::refund_facts, $1) ON CONFLICT DO NOTHING',
);

/**
 * Stores events about refunds for the buyers, and for the sellers that owe them. Refunds that are not paid in time are
 * facts of the seller's score.
 */
@Controller()
export class RefundFactsEventController {
  constructor(private readonly accountEvents: AccountEvents) {}

  @HandleEvent(paymentRefundDue)
  async onPaymentRefundDue(events: ReceivedEvent<typeof paymentRefundDue>[], tx: Tx): Promise<void> {
    await this.accountEvents.add(
      tx,
      events.flatMap(({ payload }) => {
        const { sellersMicros } = payload;
        const buyers = toBuyer(payload, { status: 'refund_due' });
        return sellersMicros === '0' ? [buyers] : [buyers, toSeller(payload, { status: 'refund_due' }, sellersMicros)];
      }),
    );
  }

  @HandleEvent(paymentRefunded)
  async onPaymentRefunded(events: ReceivedEvent<typeof paymentRefunded>[], tx: Tx): Promise<void> {
    await this.record(tx, 'paid', events);
    await this.accountEvents.add(
      tx,
      events.flatMap(({ payload }) => {
        const { refundId, owedBy, network, wallet, transactionHash } = payload;
        const paid = { status: 'refunded', refund_id: refundId, network, wallet, transaction_hash: transactionHash };
        const buyers = toBuyer(payload, paid);
        return owedBy === 'seller' ? [buyers, toSeller(payload, paid, payload.amountMicros)] : [buyers];
      }),
    );
  }

  @HandleEvent(refundOverdue)
  async onRefundOverdue(events: ReceivedEvent<typeof refundOverdue>[], tx: Tx): Promise<void> {
    await this.record(tx, 'overdue', events);
  }

  private async record(
    tx: Tx,
    kind: 'overdue' | 'paid',
    events: { payload: PayloadOf<typeof refundOverdue> }[],
  ): Promise<void> {
    const facts = events.map(({ payload: { refundId, sellerId, at } }) => ({
      refund_id: refundId,
      kind,
      seller_id: sellerId,
      happened_at: at,
    }));
    await tx.query(record, [JSON.stringify(facts)]);
  }
}

const refundEvent = (refund: Refund, micros: string, data: Record<string, unknown>): Omit<NewEvent, 'accountId'> => ({
  type: 'refund',
  at: refund.at,
  data: {
    ...data,
    request_id: refund.gatewayRequestId,
    listing_id: refund.listingId,
    amount: { amount_cents: centsNumber(BigInt(micros)), currency: 'USD' },
    reason: refund.reason,
  },
});

const toBuyer = (refund: Refund, data: Record<string, unknown>): NewEvent => ({
  ...refundEvent(refund, refund.amountMicros, { role: 'buyer', payment_id: refund.paymentId, ...data }),
  accountId: refund.buyerId,
});

const toSeller = (refund: Refund, data: Record<string, unknown>, micros: string): NewEvent => ({
  ...refundEvent(refund, micros, { role: 'seller', ...data }),
  accountId: refund.sellerId,
});
