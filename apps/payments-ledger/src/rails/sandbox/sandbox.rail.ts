import type { RequestContext } from '@market/messaging';
import { Database, sql, type Tx } from '@market/persistence';
import { maxUint256, type Address } from 'viem';
import type { Observation } from '../../payments/payment-state.js';
import { USDC } from '../assets.js';
import {
  baseUnitsOf,
  PLAY_RAIL,
  USDC_TERMS,
  type DraftOffer,
  type ExactPayee,
  type Opening,
  type PaymentRail,
  type Route,
  type WatchedOffer,
} from '../payment-rail.js';
import type { SellerWallets } from '../seller-wallets.js';
import { evmRequirements } from '../x402/exact-evm.js';
import { Facilitators } from '../x402/facilitators.js';
import { uptoOf } from '../x402/permit2.js';
import { knownDomain } from '../x402/token-facts.js';
import { SandboxFacilitator } from '../x402/sandbox-facilitator.js';

/**
 * Uses the clock instead of `now()`: in a transaction that waited for a lock, `now()` is earlier than the transfer that
 * held the lock.
 */
const transfersTo = sql(
  'sandbox.transfers-to',
  `SELECT coalesce(sum(amount_base_units), 0) AS sent,
          coalesce(sum(amount_base_units) FILTER (WHERE final_at <= clock_timestamp()), 0) AS received,
          (array_agg(transaction_hash ORDER BY final_at DESC) FILTER (WHERE final_at <= clock_timestamp()))[1] AS hash
   FROM sandbox_transfers WHERE payment_id = $1`,
);

const BASE_SEPOLIA = 'eip155:84532';
const PLAY_USDC = USDC[BASE_SEPOLIA] as Address;
const PLAY_DOMAIN = knownDomain(BASE_SEPOLIA, PLAY_USDC)!;
const SOLANA_DEVNET = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
/** Addresses that nobody owns. Money sent to them on a real chain is lost. */
const PLAY_ADDRESS: Record<string, string> = {
  [BASE_SEPOLIA]: '0x5A4dB0c500000000000000000000000000000402',
  [SOLANA_DEVNET]: 'Sandbox111111111111111111111111111111111111',
};
export const PLAY_PAYEE = PLAY_ADDRESS[BASE_SEPOLIA]!;
/** Ten cents. Below this price, buyers use the SOL route. */
const MINIMUM_MICROS = 100_000n;

/** The prices of ETH and SOL are fictitious and never change. */
const ROUTES: (Route & { unitPriceMicros: bigint })[] = [
  { ...USDC_TERMS, network: BASE_SEPOLIA, scheme: 'deposit', minimumMicros: MINIMUM_MICROS },
  {
    currency: 'ETH',
    network: BASE_SEPOLIA,
    decimals: 18,
    scheme: 'deposit',
    minimumMicros: MINIMUM_MICROS,
    unitPriceMicros: 3_000_000_000n,
  },
  {
    currency: 'SOL',
    network: SOLANA_DEVNET,
    decimals: 9,
    scheme: 'deposit',
    minimumMicros: 0n,
    unitPriceMicros: 150_000_000n,
  },
];

/**
 * A rail without a chain. Its transfers are rows that `POST /sandbox/payments/{id}/pay` writes. Everything else is the
 * same as with real money.
 */
export class SandboxRail implements PaymentRail {
  readonly id = PLAY_RAIL;
  readonly prunable = true;
  readonly authoritative = true;
  readonly local = true;

  /** @param sellers the wallets of sellers that signed payments pay; null if signed payments pay the operator. */
  constructor(
    private readonly database: Database,
    private readonly facilitator: SandboxFacilitator,
    private readonly sellers: SellerWallets | null,
    private readonly minimumX402Micros: bigint,
  ) {}

  get payout(): PaymentRail['payout'] {
    return this.sellers && { chainType: 'evm', networks: [BASE_SEPOLIA], isRequired: false };
  }

  routes(): Route[] {
    const [usdc, ...others] = ROUTES;
    return [
      usdc!,
      { ...usdc!, scheme: 'exact', minimumMicros: this.minimumX402Micros, isDefaultOnly: true },
      ...others,
    ];
  }

  async open(
    { route: { currency, network }, sellerId, priceMicros }: DraftOffer,
    context: RequestContext,
  ): Promise<Opening> {
    const amountBaseUnits = baseUnitsOf(
      priceMicros,
      ROUTES.find((route) => route.currency === currency)!,
    );
    if (currency !== 'USDC') return { payTo: PLAY_ADDRESS[network]!, payee: 'operator', amountBaseUnits };
    const [payee] = await this.payeesOf([sellerId], context);
    return { ...payee!, amountBaseUnits };
  }

  /**
   * Payments to a seller without an EVM wallet go to an address that nobody owns, so that every seller can use the
   * sandbox.
   */
  private async payeesOf(sellerIds: readonly string[], context: RequestContext): Promise<ExactPayee[]> {
    const wallets = this.sellers ? await this.sellers.find(sellerIds, 'evm', context) : sellerIds.map(() => null);
    return wallets.map((address) =>
      address ? { payTo: address, payee: 'seller' } : { payTo: PLAY_PAYEE, payee: 'operator' },
    );
  }

  /** x402 clients know USDC on this chain. Signatures are checked as on the real chain. */
  readonly exact: NonNullable<PaymentRail['exact']> = {
    payTo: this.sellers ? null : PLAY_PAYEE,
    payeesOf: (sellerIds, context) => this.payeesOf(sellerIds, context),
    requirements: (offer) => (offer.route.currency === 'USDC' ? evmRequirements(offer, PLAY_USDC, PLAY_DOMAIN) : null),
    upto: (offer, account = this.facilitator.uptoAddressOf()) => {
      const asked = this.exact.requirements(offer);
      return asked && uptoOf(asked, account);
    },
    facilitators: new Facilitators(() => [this.facilitator]),
    witness: {
      balanceOf: () => Promise.resolve(maxUint256),
      settlementOf: (held, requirements) => this.facilitator.settlementOf(held, requirements),
    },
  };

  async observe(
    { paymentId }: Pick<WatchedOffer, 'paymentId'>,
    through: Pick<Tx, 'query'> = this.database,
  ): Promise<Observation & { sentBaseUnits: bigint }> {
    const [row] = await through.query<{ sent: string; received: string; hash: string | null }>(transfersTo, [
      paymentId,
    ]);
    const [sentBaseUnits, receivedBaseUnits] = [BigInt(row!.sent), BigInt(row!.received)];
    return {
      sentBaseUnits,
      receivedBaseUnits,
      arriving: sentBaseUnits > receivedBaseUnits,
      transactionHash: row!.hash,
    };
  }
}
