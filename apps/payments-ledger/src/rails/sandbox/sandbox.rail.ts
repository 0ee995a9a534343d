import { createHash } from 'node:crypto';
import { Database, sql, type Tx } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import bs58 from 'bs58';
import { getAddress } from 'viem';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../../config.js';
import type { Observation } from '../../payments/payment-state.js';
import type { Opening, PaymentRail, PricedOffer, Route, WatchedOffer } from '../payment-rail.js';
import { AUTHORIZATION_SECONDS, type ExactRequirements } from '../x402/exact-payment.js';
import { SandboxFacilitator } from '../x402/sandbox-facilitator.js';
import { usdcDomain } from '../x402/usdc-domain.js';

/** By the clock and not by `now()`, which for a transaction that waited its turn is before the transfer it waited for. */
const transfersTo = sql(
  'sandbox.transfers-to',
  `SELECT coalesce(sum(amount_base_units), 0) AS sent, coalesce(sum(amount_base_units) FILTER (WHERE final_at <= clock_timestamp()), 0) AS received,
          (array_agg(transaction_hash ORDER BY final_at DESC) FILTER (WHERE final_at <= clock_timestamp()))[1] AS hash
   FROM sandbox_transfers WHERE payment_id = $1`,
);

const BASE_SEPOLIA = 'eip155:84532';
const USDC = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
const SOLANA_DEVNET = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';

/** Money without a chain: its transfers are rows that `POST /sandbox/payments/{id}/pay` writes. Everything behind it is real. */
@Injectable()
export class SandboxRail implements PaymentRail {
  readonly id = 'sandbox';
  readonly forgets = true;
  readonly seesAll = true;

  constructor(
    private readonly database: Database,
    private readonly facilitator: SandboxFacilitator,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  routes(): Route[] {
    return [
      { currency: 'USDC', network: BASE_SEPOLIA, decimals: 6, scheme: 'deposit', minimumMicros: BigInt(this.config.minimumUsdcMicros) },
      { currency: 'ETH', network: BASE_SEPOLIA, decimals: 18, scheme: 'deposit', minimumMicros: BigInt(this.config.minimumEthMicros) },
      { currency: 'SOL', network: SOLANA_DEVNET, decimals: 9, scheme: 'deposit', minimumMicros: BigInt(this.config.minimumSolMicros) },
    ];
  }

  /** The address looks like one of the chain and belongs to nobody: it is made from the offer's id. */
  open({ relayRequestId, route }: Pick<PricedOffer, 'relayRequestId' | 'route'>): Opening {
    const digest = createHash('sha256').update(`sandbox deposit ${relayRequestId}`).digest();
    return { depositAddress: route.currency === 'SOL' ? bs58.encode(digest) : getAddress(`0x${digest.subarray(0, 20).toString('hex')}`) };
  }

  /** Clients of x402 know USDC on this chain; what they sign is checked as it would be there. */
  readonly exact = {
    depositAddress: (offer: Pick<PricedOffer, 'relayRequestId' | 'route'>): string => this.open(offer).depositAddress,
    requirements: ({ route, amountBaseUnits, depositAddress, relayRequestId }: PricedOffer): ExactRequirements | null =>
      route.currency === 'USDC'
        ? { scheme: 'exact', network: BASE_SEPOLIA, amount: amountBaseUnits.toString(), asset: USDC, payTo: getAddress(depositAddress), maxTimeoutSeconds: AUTHORIZATION_SECONDS, extra: { ...usdcDomain(BASE_SEPOLIA), relayRequestId } }
        : null,
    facilitator: this.facilitator,
  };

  observe({ paymentId }: WatchedOffer): Promise<Observation> {
    return this.look(this.database, paymentId);
  }

  async look(through: Pick<Tx, 'query'>, paymentId: string): Promise<Observation & { sentBaseUnits: bigint }> {
    const [row] = await through.query<{ sent: string; received: string; hash: string | null }>(transfersTo, [paymentId]);
    const [sentBaseUnits, receivedBaseUnits] = [BigInt(row!.sent), BigInt(row!.received)];
    return { sentBaseUnits, receivedBaseUnits, arriving: sentBaseUnits > receivedBaseUnits, transactionHash: row!.hash };
  }
}
