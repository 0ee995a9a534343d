import { callFailed } from '@market/contracts/gateway';
import { paymentCompleted, subscriptionStarted } from '@market/contracts/payments-ledger';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Trades } from './trades.js';

interface CallFact {
  eventId: string;
  outcome: 'delivered' | 'failed';
  gatewayRequestId: string;
  listingId: string;
  sellerId: string;
  buyerId: string;
  grossMicros: string;
  sellerStatusCode: number;
  latencyMs: number;
  failureReason: string | null;
  happenedAt: string;
}

const recordCalls = sql(
  'call-facts.record',
  `INSERT INTO call_facts (event_id, outcome, gateway_request_id, listing_id, seller_id, buyer_id, gross_micros, seller_status_code, latency_ms, failure_reason, happened_at)
   SELECT * FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::uuid[], $6::uuid[], $7::bigint[], $8::int[], $9::int[], $10::text[], $11::timestamptz[])
   ON CONFLICT DO NOTHING RETURNING event_id AS id`,
);
const recordSubscriptions = sql(
  'subscription-facts.record',
  `INSERT INTO subscription_facts (subscription_id, payment_id, listing_id, seller_id, buyer_id, pricing_model, gross_micros, started_at)
   SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::bigint[], $8::timestamptz[])
   ON CONFLICT DO NOTHING RETURNING subscription_id AS id`,
);

/**
 * Keeps what was measured of each call and which subscriptions began, append-only, one row an event, and adds it up. The
 * order in which facts arrive means nothing, nor does a repetition, even of an event that the inbox has forgotten by now.
 */
@Injectable()
export class CallFacts {
  constructor(private readonly trades: Trades) {}

  @HandleEvent(paymentCompleted)
  async onPaymentCompleted(events: ReceivedEvent<typeof paymentCompleted>[], tx: Tx): Promise<void> {
    await this.recordCalls(
      tx,
      events.map(({ id, payload: { gatewayRequestId, listingId, sellerId, buyerId, grossMicros, sellerStatusCode, latencyMs, completedAt } }) => ({
        eventId: id,
        outcome: 'delivered',
        gatewayRequestId,
        listingId,
        sellerId,
        buyerId,
        grossMicros,
        sellerStatusCode,
        latencyMs,
        failureReason: null,
        happenedAt: completedAt,
      })),
    );
  }

  @HandleEvent(callFailed)
  async onCallFailed(events: ReceivedEvent<typeof callFailed>[], tx: Tx): Promise<void> {
    await this.recordCalls(
      tx,
      events.map(({ id, payload: { gatewayRequestId, listingId, sellerId, buyerId, sellerStatusCode, latencyMs, reason, at } }) => ({
        eventId: id,
        outcome: 'failed',
        gatewayRequestId,
        listingId,
        sellerId,
        buyerId,
        grossMicros: '0',
        sellerStatusCode,
        latencyMs,
        failureReason: reason,
        happenedAt: at,
      })),
    );
  }

  @HandleEvent(subscriptionStarted)
  async onSubscriptionStarted(events: ReceivedEvent<typeof subscriptionStarted>[], tx: Tx): Promise<void> {
    const facts = events.map((event) => event.payload);
    const recorded = await tx.query<{ id: string }>(recordSubscriptions, [
      facts.map((fact) => fact.subscriptionId),
      facts.map((fact) => fact.paymentId),
      facts.map((fact) => fact.listingId),
      facts.map((fact) => fact.sellerId),
      facts.map((fact) => fact.consumerId),
      facts.map((fact) => fact.pricingModel),
      facts.map((fact) => fact.grossMicros),
      facts.map((fact) => fact.startedAt),
    ]);
    const fresh = new Set(recorded.map(({ id }) => id));
    await this.trades.add(
      tx,
      facts
        .filter(({ subscriptionId }) => fresh.delete(subscriptionId))
        .map(({ sellerId, consumerId, listingId, grossMicros, startedAt }) => ({ sellerId, buyerId: consumerId, listingId, kind: 'subscription', paidMicros: grossMicros, at: startedAt })),
    );
  }

  private async recordCalls(tx: Tx, facts: CallFact[]): Promise<void> {
    const column = <K extends keyof CallFact>(name: K): CallFact[K][] => facts.map((fact) => fact[name]);
    const recorded = await tx.query<{ id: string }>(recordCalls, [
      column('eventId'),
      column('outcome'),
      column('gatewayRequestId'),
      column('listingId'),
      column('sellerId'),
      column('buyerId'),
      column('grossMicros'),
      column('sellerStatusCode'),
      column('latencyMs'),
      column('failureReason'),
      column('happenedAt'),
    ]);
    const fresh = new Set(recorded.map(({ id }) => id));
    await this.trades.add(
      tx,
      facts
        .filter(({ eventId }) => fresh.has(eventId))
        .map(({ sellerId, buyerId, listingId, outcome, grossMicros, happenedAt }) => ({ sellerId, buyerId, listingId, kind: outcome, paidMicros: grossMicros, at: happenedAt })),
    );
  }
}
