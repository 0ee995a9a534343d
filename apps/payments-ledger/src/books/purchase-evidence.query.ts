import { getPurchaseEvidence } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { HandleRequest } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

const find = sql(
  'payments.purchase-evidence',
  `SELECT (SELECT max(completed_at) FROM payments
           WHERE buyer_id = $1 AND listing_id = $2 AND state = 'completed' AND purpose = 'call') AS called,
          (SELECT max(created_at) FROM subscriptions WHERE consumer_id = $1 AND listing_id = $2) AS subscribed`,
);

/**
 * When a buyer last bought from a listing. Refunded and unbilled calls do not count, because their payments are not
 * completed.
 */
@Injectable()
export class PurchaseEvidenceQuery {
  constructor(private readonly database: Database) {}

  @HandleRequest(getPurchaseEvidence)
  async find({
    buyerId,
    listingId,
  }: InputOf<typeof getPurchaseEvidence>): Promise<OutputOf<typeof getPurchaseEvidence>> {
    const [row] = await this.database.query<{ called: Date | null; subscribed: Date | null }>(find, [
      buyerId,
      listingId,
    ]);
    return {
      lastBillableCallAt: row!.called?.toISOString() ?? null,
      subscriptionStartedAt: row!.subscribed?.toISOString() ?? null,
    };
  }
}
