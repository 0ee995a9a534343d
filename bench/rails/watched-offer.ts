import { newId } from '@market/kernel';
import { newCall } from '@market/messaging';
import { randomBytes } from 'node:crypto';
import type { PaymentRail, WatchedOffer } from '../../apps/payments-ledger/src/rails/payment-rail.js';

/** A quarter of a US dollar: also in base units of USDC, and in those of ETH at $3,000 and of SOL at $150. */
export const PRICE_MICROS = 250_000n;
export const PRICE_IN_WEI = 83_333_333_333_333n;
export const PRICE_IN_LAMPORTS = 1_666_667n;
const FEE_BPS = 500;

export const draftOf = (rail: PaymentRail, currency: string, amountBaseUnits: bigint) => {
  const route = rail.routes().find((each) => each.currency === currency)!;
  const netMicros = PRICE_MICROS - (PRICE_MICROS * BigInt(FEE_BPS)) / 10_000n;
  return { relayRequestId: `0x${randomBytes(32).toString('hex')}`, route, amountBaseUnits, priceMicros: PRICE_MICROS, netMicros, feeBps: FEE_BPS, buyerId: newId(), sellerId: newId() };
};

/** An offer of a rail as the ledger would keep it. */
export async function watchedOffer(rail: PaymentRail, currency: string, amountBaseUnits: bigint): Promise<WatchedOffer> {
  const draft = draftOf(rail, currency, amountBaseUnits);
  const opened = await rail.open(draft, newCall());
  return { ...draft, ...opened, relayRequestId: opened.relayRequestId ?? draft.relayRequestId, amountBaseUnits: opened.amountBaseUnits ?? amountBaseUnits, reference: opened.reference ?? null, paymentId: newId(), createdAt: new Date() };
}

/** @throws Error when a rail does not see what is there: what it took would mean nothing. */
export async function observeExactly(rail: PaymentRail, offer: WatchedOffer, receivedBaseUnits: bigint): Promise<void> {
  const seen = await rail.observe(offer);
  if (seen.receivedBaseUnits !== receivedBaseUnits) throw new Error(`${rail.id} sees ${seen.receivedBaseUnits} of ${receivedBaseUnits} ${offer.route.currency}`);
}
