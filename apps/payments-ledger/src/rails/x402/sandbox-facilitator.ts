import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { keccak256, toBytes } from 'viem';
import type { ExactPayload, ExactRequirements } from './exact-payment.js';
import { Facilitator, type Settlement, type Verification } from './facilitator.js';

const transfer = sql(
  'sandbox.transfer-authorized',
  `INSERT INTO sandbox_transfers (transaction_hash, payment_id, amount_base_units, final_at)
   SELECT $1, id, $3, clock_timestamp() FROM payments WHERE relay_request_id = $2 ON CONFLICT (transaction_hash) DO NOTHING`,
);

/** Settles without a chain: every payer has enough, and a transfer is a row. The signature was checked before, as anywhere. */
@Injectable()
export class SandboxFacilitator extends Facilitator {
  constructor(private readonly database: Database) {
    super();
  }

  verify(): Promise<Verification> {
    return Promise.resolve({ valid: true });
  }

  /** An authorization is one transaction, however often it is handed in. */
  async settle({ payload: { authorization } }: ExactPayload, { network, asset, amount, extra }: ExactRequirements): Promise<Settlement> {
    const transactionHash = keccak256(toBytes(`sandbox ${network} ${asset} ${authorization.from} ${authorization.nonce}`.toLowerCase()));
    await this.database.query(transfer, [transactionHash, extra.relayRequestId, amount]);
    return { settled: true, transactionHash };
  }
}
