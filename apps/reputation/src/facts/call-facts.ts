import { callFailed } from '@market/contracts/gateway';
import { paymentCompleted } from '@market/contracts/payments-ledger';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';

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

const record = sql(
  'call-facts.record',
  `INSERT INTO call_facts (event_id, outcome, gateway_request_id, listing_id, seller_id, buyer_id, gross_micros, seller_status_code, latency_ms, failure_reason, happened_at)
   SELECT * FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::uuid[], $6::uuid[], $7::bigint[], $8::int[], $9::int[], $10::text[], $11::timestamptz[])
   ON CONFLICT DO NOTHING`,
);

/**
 * Keeps what was measured of each call, append-only, one row an event. The order in which facts arrive means nothing,
 * nor does a repetition, even of an event that the inbox has forgotten by now.
 */
@Injectable()
export class CallFacts {
  @HandleEvent(paymentCompleted)
  async onPaymentCompleted(events: ReceivedEvent<typeof paymentCompleted>[], tx: Tx): Promise<void> {
    await this.record(
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
    await this.record(
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

  private async record(tx: Tx, facts: CallFact[]): Promise<void> {
    const column = <K extends keyof CallFact>(name: K): CallFact[K][] => facts.map((fact) => fact[name]);
    await tx.query(record, [
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
  }
}
