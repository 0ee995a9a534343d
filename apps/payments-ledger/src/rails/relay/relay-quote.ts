import { parseDecimal, type Micros } from '@market/kernel';
import bs58 from 'bs58';
import { isAddress as isEvmAddress } from 'viem';
import { z } from 'zod';
import type { DraftOffer } from '../payment-rail.js';
import type { RelayAsset } from './relay-settings.js';

/** The order that a quote is requested for. */
export interface QuoteTerms {
  draft: Pick<DraftOffer, 'netMicros' | 'priceMicros' | 'feeBps'>;
  from: RelayAsset;
  to: RelayAsset;
  /** The buyer's wallet, which pays and receives refunds. */
  payer: string;
  /** The seller's wallet. */
  payout: string;
  /** The address to which Relay credits the marketplace's fee. */
  feeRecipient: string | undefined;
  referrer: string;
  ttlSeconds: number;
  /** The maximum in micros that Relay may add to the price. */
  mostCostMicros: bigint;
}

export interface QuotedOffer {
  relayRequestId: string;
  depositAddress: string;
  amountBaseUnits: bigint;
}

/** Relay's costs for this order exceed the maximum. */
export class QuoteTooExpensive extends Error {
  override readonly name = 'QuoteTooDear';
}

/** Relay would not pay the marketplace's fee, which happens below some amount on one chain. */
export class QuoteWithoutFee extends Error {
  override readonly name = 'QuoteWithoutFee';
}

const baseUnits = z.string().regex(/^\d{1,38}$/);
const amountAnswer = z.object({
  currency: z.object({ chainId: z.number(), address: z.string(), decimals: z.number() }),
  amount: baseUnits,
  minimumAmount: baseUnits.optional(),
  amountUsd: z.string().optional(),
});
/** The fields of an answer that are read; other fields are ignored. */
const quoteAnswer = z.object({
  steps: z.tuple([
    z.object({
      id: z.literal('deposit'),
      requestId: z.string().regex(/^0x[0-9a-fA-F]{64}$/),
      depositAddress: z.string(),
    }),
  ]),
  details: z.object({ recipient: z.string(), currencyIn: amountAnswer, currencyOut: amountAnswer }),
  fees: z.object({ app: z.object({ amount: baseUnits }).optional() }).optional(),
});

/**
 * The body of `POST /quote/v2`. It requests a deposit address that is bound to this order and pays the seller its exact
 * part. The marketplace's fee and Relay's fees are added to it. Source: docs.relay.link, "Get Quote v2", "Deposit
 * Addresses", "Trade Types", "App Fees".
 */
export const quoteRequest = ({ draft, from, to, payer, payout, feeRecipient, referrer, ttlSeconds }: QuoteTerms) => ({
  user: payer,
  recipient: payout,
  refundTo: payer,
  originChainId: from.chainId,
  originCurrency: from.address,
  destinationChainId: to.chainId,
  destinationCurrency: to.address,
  tradeType: 'EXACT_OUTPUT' as const,
  amount: outputOf(draft, to).toString(),
  useDepositAddress: true,
  strict: true,
  ...(takesFee(draft, feeRecipient) && { appFees: [{ recipient: feeRecipient, fee: draft.feeBps.toString() }] }),
  referrer,
  ttl: ttlSeconds,
});

/**
 * Reads the offer from an answer and checks that it is exactly what was requested.
 * @throws Error that names what differs; QuoteTooExpensive, QuoteWithoutFee.
 */
export function readQuote(answer: unknown, terms: QuoteTerms): QuotedOffer {
  const { draft, from, to, payout, feeRecipient } = terms;
  const parsed = quoteAnswer.safeParse(answer);
  if (!parsed.success)
    throw new Error(
      `not as documented at ${parsed.error.issues.map(({ path }) => path.join('.') || 'its root').join(', ')}`,
    );
  const {
    steps: [step],
    details: { recipient, currencyIn, currencyOut },
    fees,
  } = parsed.data;
  if (!isAddressOf(from, step.depositAddress)) throw new Error('the deposit address is none of its chain');
  if (!isAt(from, currencyIn.currency)) throw new Error('another currency is to be paid');
  if (!isAt(to, currencyOut.currency)) throw new Error('another currency arrives');
  if (!isSame(to, recipient, payout)) throw new Error('another wallet is paid');
  const output = outputOf(draft, to);
  if (BigInt(currencyOut.amount) !== output || BigInt(currencyOut.minimumAmount ?? output) !== output)
    throw new Error('another amount arrives');
  const amountBaseUnits = BigInt(currencyIn.amount);
  const worth = worthMicros(from, currencyIn);
  if (amountBaseUnits === 0n || worth === null || worth * 2n < draft.priceMicros)
    throw new Error('the amount to be paid is worth less than half of the price');
  if (worth > (draft.priceMicros * 11n) / 10n + terms.mostCostMicros)
    throw new QuoteTooExpensive('it costs more than it may');
  if (takesFee(draft, feeRecipient) && fees?.app && BigInt(fees.app.amount) === 0n)
    throw new QuoteWithoutFee('it takes no fee for us');
  return { relayRequestId: step.requestId.toLowerCase(), depositAddress: step.depositAddress, amountBaseUnits };
}

/** One USDC is one dollar and has six decimals, so a price in micros is an amount in base units. */
const outputOf = ({ netMicros }: Pick<DraftOffer, 'netMicros'>, to: RelayAsset): bigint =>
  netMicros * 10n ** BigInt(to.decimals - 6);

const takesFee = ({ feeBps }: Pick<DraftOffer, 'feeBps'>, feeRecipient: string | undefined): boolean =>
  feeBps > 0 && feeRecipient !== undefined;

/**
 * The value of an amount in micros, rounded down. One USDC counts as one dollar. For other currencies Relay reports the
 * value; without it, the result is null.
 */
function worthMicros({ currency }: RelayAsset, { amount, amountUsd }: z.output<typeof amountAnswer>): Micros | null {
  const units = currency === 'USDC' ? BigInt(amount) * 10n ** 12n : parseDecimal(amountUsd ?? '', 18);
  return units === null ? null : units / 10n ** 12n;
}

const isAddressOf = ({ chainType }: RelayAsset, text: string): boolean =>
  chainType === 'evm' ? isEvmAddress(text, { strict: false }) : bs58.decodeUnsafe(text)?.length === 32;

/** EVM addresses are compared without regard to letter case. */
const isSame = ({ chainType }: RelayAsset, a: string, b: string): boolean =>
  chainType === 'evm' ? a.toLowerCase() === b.toLowerCase() : a === b;

const isAt = (place: RelayAsset, currency: { chainId: number; address: string; decimals: number }): boolean =>
  currency.chainId === place.chainId &&
  currency.decimals === place.decimals &&
  isSame(place, currency.address, place.address);
