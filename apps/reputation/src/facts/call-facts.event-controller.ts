import { callFailed } from '@market/contracts/gateway';
import { feesPaid, paymentCompleted, subscriptionStarted } from '@market/contracts/payments-ledger';
import { centsNumber } from '@market/kernel';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';
import { AccountEvents } from '../events/account-events.js';
import { toBothSides } from '../events/both-sides.js';
import { FeeFacts } from './fee-facts.js';
import { Trades, type TradeEvent } from './trades.js';

/** Inserts facts and returns the new ones, which are then added to the sums. */
const recordCalls = sql(
  'call-facts.record',
  `INSERT INTO call_facts SELECT * FROM jsonb_populate_recordset(NULL::call_facts, $1) ON CONFLICT DO NOTHING
   RETURNING seller_id, buyer_id, listing_id, outcome AS kind, gross_micros AS paid_micros, happened_at AS at`,
);
const recordSubscriptions = sql(
  'subscription-facts.record',
  `INSERT INTO subscription_facts SELECT * FROM jsonb_populate_recordset(NULL::subscription_facts, $1) ON CONFLICT DO NOTHING
   RETURNING seller_id, buyer_id, listing_id, 'subscription' AS kind, gross_micros AS paid_micros, started_at AS at`,
);

/**
 * Stores facts about calls, subscriptions and received fees, append-only, one row per event. It adds them to the sums and stores
 * events for the accounts. The order of events does not matter. A repeated event has no effect, even if the inbox no
 * longer contains it.
 */
@Controller()
export class CallFactsEventController {
  constructor(
    private readonly trades: Trades,
    private readonly fees: FeeFacts,
    private readonly accountEvents: AccountEvents,
  ) {}

  @HandleEvent(paymentCompleted)
  async onPaymentCompleted(events: ReceivedEvent<typeof paymentCompleted>[], tx: Tx): Promise<void> {
    const facts = events.map(({ id, payload }) => ({
      event_id: id,
      outcome: 'delivered',
      gateway_request_id: payload.gatewayRequestId,
      listing_id: payload.listingId,
      seller_id: payload.sellerId,
      buyer_id: payload.buyerId,
      gross_micros: payload.grossMicros,
      seller_status_code: payload.sellerStatusCode,
      latency_ms: payload.latencyMs,
      happened_at: payload.completedAt,
    }));
    this.trades.add(tx, await tx.query<TradeEvent>(recordCalls, [JSON.stringify(facts)]));
    await this.fees.add(
      tx,
      events.map(({ payload: { paymentId, sellerId, feeReceivedMicros, completedAt } }) => ({
        payment_id: paymentId,
        seller_id: sellerId,
        received_micros: feeReceivedMicros,
        received_at: completedAt,
      })),
    );
    await this.accountEvents.add(
      tx,
      events.map(({ payload }) => ({
        accountId: payload.sellerId,
        type: 'sale',
        at: payload.completedAt,
        data: {
          request_id: payload.gatewayRequestId,
          listing_id: payload.listingId,
          buyer_id: payload.buyerId,
          charged_amount: { amount_cents: centsNumber(BigInt(payload.grossMicros)), currency: 'USD' },
          fee_amount_cents: centsNumber(BigInt(payload.feeMicros)),
        },
      })),
    );
  }

  /** Only failures of paid calls count in scores, because only paid deliveries do. */
  @HandleEvent(callFailed)
  async onCallFailed(events: ReceivedEvent<typeof callFailed>[], tx: Tx): Promise<void> {
    const paid = events.filter(({ payload }) => payload.isPaid);
    const facts = paid.map(({ id, payload }) => ({
      event_id: id,
      outcome: 'failed',
      gateway_request_id: payload.gatewayRequestId,
      listing_id: payload.listingId,
      seller_id: payload.sellerId,
      buyer_id: payload.buyerId,
      gross_micros: '0',
      seller_status_code: payload.sellerStatusCode,
      latency_ms: payload.latencyMs,
      failure_reason: payload.reason,
      happened_at: payload.at,
    }));
    this.trades.add(tx, await tx.query<TradeEvent>(recordCalls, [JSON.stringify(facts)]));
    await this.accountEvents.add(
      tx,
      events.flatMap(({ payload }) =>
        toBothSides(payload, {
          type: 'delivery_failed',
          at: payload.at,
          data: {
            request_id: payload.gatewayRequestId,
            listing_id: payload.listingId,
            attempt: payload.attempt,
            reason: payload.reason,
            seller_status_code: payload.sellerStatusCode,
          },
        }),
      ),
    );
  }

  /** Fees that were the seller's debt until now. */
  @HandleEvent(feesPaid)
  async onFeesPaid(events: ReceivedEvent<typeof feesPaid>[], tx: Tx): Promise<void> {
    await this.fees.add(
      tx,
      events.map(({ payload: { paymentId, sellerId, receivedMicros, paidAt } }) => ({
        payment_id: paymentId,
        seller_id: sellerId,
        received_micros: receivedMicros,
        received_at: paidAt,
      })),
    );
  }

  @HandleEvent(subscriptionStarted)
  async onSubscriptionStarted(events: ReceivedEvent<typeof subscriptionStarted>[], tx: Tx): Promise<void> {
    const facts = events.map(({ payload }) => ({
      subscription_id: payload.subscriptionId,
      listing_id: payload.listingId,
      seller_id: payload.sellerId,
      buyer_id: payload.consumerId,
      gross_micros: payload.grossMicros,
      started_at: payload.startedAt,
    }));
    this.trades.add(tx, await tx.query<TradeEvent>(recordSubscriptions, [JSON.stringify(facts)]));
    await this.fees.add(
      tx,
      events.flatMap(({ payload: { paymentId, sellerId, feeReceivedMicros, startedAt } }) =>
        paymentId === null
          ? []
          : [
              {
                payment_id: paymentId,
                seller_id: sellerId,
                received_micros: feeReceivedMicros,
                received_at: startedAt,
              },
            ],
      ),
    );
    await this.accountEvents.add(
      tx,
      events.flatMap(({ payload: { subscriptionId, consumerId, sellerId, listingId, pricingModel, startedAt } }) =>
        toBothSides(
          { buyerId: consumerId, sellerId },
          {
            type: 'subscription_started',
            at: startedAt,
            data: { listing_id: listingId, pricing_model: pricingModel },
          },
          { subscription_id: subscriptionId },
        ),
      ),
    );
  }
}
