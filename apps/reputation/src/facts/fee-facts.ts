import { batchSql, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';

/** Money that the operator received as a fee: with a sale, or later, as a payment of the seller's debt. */
export interface FeeFact {
  payment_id: string;
  seller_id: string;
  received_micros: string;
  received_at: string;
}

const record = sql(
  'fee-facts.record',
  `INSERT INTO fee_facts SELECT * FROM jsonb_populate_recordset(NULL::fee_facts, $1) ON CONFLICT DO NOTHING
   RETURNING seller_id, received_micros`,
);
const addToAccounts = batchSql(`
  INSERT INTO accounts AS known (account_id, party_id, fees_micros)
  SELECT seller_id, seller_id, sum(received_micros)
  FROM jsonb_to_recordset($1) AS fees (seller_id uuid, received_micros bigint) GROUP BY seller_id ORDER BY seller_id
  ON CONFLICT (account_id) DO UPDATE SET fees_micros = known.fees_micros + excluded.fees_micros`);
const measureAgain = batchSql(
  'INSERT INTO popularity_due SELECT DISTINCT seller_id FROM jsonb_to_recordset($1) AS fees (seller_id uuid)',
);

/** Stores received fees, one row per payment, and adds those that are new to the sums of their sellers. */
@Injectable()
export class FeeFacts {
  async add(tx: Tx, fees: FeeFact[]): Promise<void> {
    const received = fees.filter(({ received_micros }) => received_micros !== '0');
    if (received.length === 0) return;
    const added = JSON.stringify(await tx.query(record, [JSON.stringify(received)]));
    if (added === '[]') return;
    tx.send(addToAccounts, [added]);
    tx.send(measureAgain, [added]);
  }
}
