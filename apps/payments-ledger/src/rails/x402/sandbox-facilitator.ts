import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { keccak256, toBytes, type Hash } from 'viem';
import type { EvmPayload, ExactPayload, ExactRequirements, Permit2Payload } from './exact-payment.js';
import { Facilitator, type HeldAuthorization, type Settlement, type Verification } from './facilitator.js';

const transfer = sql(
  'sandbox.transfer-authorized',
  `INSERT INTO sandbox_transfers (transaction_hash, payment_id, amount_base_units, final_at)
   SELECT $1, id, $3, clock_timestamp() FROM payments WHERE relay_request_id = $2 ON CONFLICT (transaction_hash) DO NOTHING`,
);

/** A settlement that began in time has ended ten minutes later. */
const find = sql(
  'sandbox.find-authorized',
  `SELECT EXISTS (SELECT 1 FROM sandbox_transfers WHERE transaction_hash = $1) AS is_settled,
     to_timestamp($2) + interval '10 minutes' < clock_timestamp() AS is_over`,
);

const PLAY_FACILITATOR = '0x5A4dB0c500000000000000000000000000000403';

/**
 * Settles without a chain: every payer has enough money, and a transfer is a row. The signature was checked before, as
 * on every rail.
 */
@Injectable()
export class SandboxFacilitator extends Facilitator {
  readonly id = 'sandbox';

  constructor(private readonly database: Database) {
    super();
  }

  /** An account that nobody owns. */
  override uptoAddressOf(): string {
    return PLAY_FACILITATOR;
  }

  verify(): Promise<Verification> {
    return Promise.resolve({ valid: true });
  }

  /** An authorization is one transaction, even if it is submitted repeatedly. */
  async settle({ payload }: ExactPayload, requirements: ExactRequirements): Promise<Settlement> {
    const { from, nonce } =
      (payload as Partial<EvmPayload>).authorization ?? (payload as Permit2Payload).permit2Authorization;
    const transactionHash = hashOf(from, String(nonce), requirements);
    await this.database.query(transfer, [transactionHash, requirements.extra.relayRequestId, requirements.amount]);
    return { settled: true, transactionHash };
  }

  /** Returns the outcome that a chain would report. */
  async settlementOf(
    { payer, nonce, validBefore }: HeldAuthorization,
    requirements: ExactRequirements,
  ): Promise<Settlement | null> {
    const transactionHash = hashOf(payer, nonce, requirements);
    const [row] = await this.database.query<{ is_settled: boolean; is_over: boolean }>(find, [
      transactionHash,
      validBefore,
    ]);
    if (row!.is_settled) return { settled: true, transactionHash };
    return row!.is_over ? { settled: false, reason: 'authorization_expired' } : null;
  }
}

const hashOf = (payer: string, nonce: string, { network, asset }: ExactRequirements): Hash =>
  keccak256(toBytes(`sandbox ${network} ${asset} ${payer} ${nonce}`.toLowerCase()));
