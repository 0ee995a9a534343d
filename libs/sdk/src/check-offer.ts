import { addDecimals, compareDecimals, formatUsd, multiplyDecimals, toBaseUnits, type DecimalLike } from './decimal.js';
import { MarketplaceError } from './errors.js';
import { DECIMALS } from './known-assets.js';
import type { Offer, PaymentRoute } from './types.js';

export interface OfferLimits {
  /** USD. Neither the stated price nor the amount to be paid may exceed it. Undefined means no limit. */
  maxPriceUsd?: DecimalLike;
  /** USD; the price of the listing as the caller knows it. */
  listedPriceUsd?: DecimalLike;
  /** USD by which an offer may exceed its price for its payment route. */
  maxRouteFeeUsd?: DecimalLike;
}

export type OfferRefusal =
  | 'relay_request_id_mismatch'
  | 'offer_expired'
  | 'amount_mismatch'
  | 'x402_mismatch'
  | 'price_above_listing'
  | 'amount_above_price'
  | 'currency_without_price'
  | 'no_payer';

/** An offer with less time left than this is not paid, because the payment may arrive too late. */
const MIN_MS_LEFT = 15_000;
/** How much the price of a coin may change between the making of the offer and this check. */
const PRICE_MOVEMENT = '1.05';

/**
 * Checks an offer before anything is paid: it is for this call, has not expired, names one recipient and one amount
 * everywhere, and asks no more than its price and the limits allow. Amounts of coins are valued by the unit price of
 * the route.
 * @throws MarketplaceError `OFFER_REFUSED` with an `OfferRefusal` in `details.reason`, or `PRICE_ABOVE_LIMIT`.
 */
export async function checkOffer(
  offer: Offer,
  limits: OfferLimits,
  now: number,
  routes: () => Promise<PaymentRoute[]>,
): Promise<void> {
  const { requirements, fees, relay_request_id: relayRequestId } = offer;
  const { currency, amount, amount_base_units: stated, expiresAt } = requirements;
  if (requirements.relayRequestId !== relayRequestId)
    throw refused(offer, 'relay_request_id_mismatch', 'The offer names two relay request ids');
  if (!(Date.parse(expiresAt) >= now + MIN_MS_LEFT))
    throw refused(offer, 'offer_expired', `The offer ends at ${expiresAt}, too soon to pay it`);
  const baseUnits = baseUnitsOf(offer);
  if (baseUnits === undefined || baseUnits <= 0n || (stated !== undefined && stated !== String(baseUnits))) {
    throw refused(offer, 'amount_mismatch', 'The offer is not of one mind about its amount');
  }
  const { depositAddress } = requirements;
  for (const { scheme, network, payTo, amount: signed, extra } of offer.x402?.accepts ?? []) {
    // What only a signature pays may be signed for on any chain, for the same amount of USDC.
    const agrees =
      (scheme !== 'exact' && scheme !== 'upto') ||
      ((!depositAddress || (network === requirements.network && isSameAddress(payTo, depositAddress))) &&
        signed === String(baseUnits) &&
        extra?.['relayRequestId'] === relayRequestId);
    if (!agrees) throw refused(offer, 'x402_mismatch', 'What the offer asks to sign is not what its requirements say');
  }

  const price = fees?.gross_amount;
  const { maxPriceUsd, listedPriceUsd, maxRouteFeeUsd = 0 } = limits;
  if (maxPriceUsd !== undefined) refuseAbove(maxPriceUsd, [price, currency === 'USDC' ? amount : undefined], offer);
  if (price !== undefined && listedPriceUsd !== undefined && compareDecimals(price, listedPriceUsd) > 0) {
    throw refused(
      offer,
      'price_above_listing',
      `The offer costs ${formatUsd(price)} and its listing ${formatUsd(listedPriceUsd)}`,
    );
  }
  if (price === undefined && maxPriceUsd === undefined) return;
  const worth = currency === 'USDC' ? amount : multiplyDecimals(amount, await unitPriceOf(offer, routes));
  const allowance = (usd: DecimalLike): string =>
    currency === 'USDC' ? String(usd) : multiplyDecimals(usd, PRICE_MOVEMENT);
  if (price !== undefined && compareDecimals(worth, addDecimals(allowance(price), maxRouteFeeUsd)) > 0) {
    throw refused(
      offer,
      'amount_above_price',
      `${amount} ${currency} are worth ${formatUsd(worth)}, the call costs ${formatUsd(price)}`,
    );
  }
  if (maxPriceUsd !== undefined) refuseAbove(allowance(maxPriceUsd), [worth], offer);
}

function baseUnitsOf({ requirements: { amount, currency } }: Offer): bigint | undefined {
  try {
    return toBaseUnits(amount, DECIMALS[currency]);
  } catch {
    return undefined;
  }
}

async function unitPriceOf(offer: Offer, routes: () => Promise<PaymentRoute[]>): Promise<number> {
  const { currency, network } = offer.requirements;
  const route = (await routes()).find((candidate) => candidate.currency === currency && candidate.network === network);
  if (typeof route?.unit_price_usd === 'number') return route.unit_price_usd;
  throw refused(
    offer,
    'currency_without_price',
    `The marketplace states no price of ${currency} on ${network} to value the offer by`,
  );
}

function refuseAbove(limit: DecimalLike, stated: (DecimalLike | undefined)[], offer: Offer): void {
  const prices = stated.filter((price) => price !== undefined);
  if (prices.length > 0 && prices.every((price) => compareDecimals(price, limit) <= 0)) return;
  throw new MarketplaceError({
    status: 402,
    code: 'PRICE_ABOVE_LIMIT',
    message:
      prices.length === 0
        ? `The offer states no price in USD to hold against the limit of ${formatUsd(limit)}; nothing was paid.`
        : `The call costs ${[...new Set(prices.map(formatUsd))].join(' or ')}, above the limit of ${formatUsd(limit)}; nothing was paid.`,
    details: { prices_usd: prices, limit_usd: limit },
    payment: offer,
  });
}

/** Compares addresses of EVM chains, whose letter case is only a checksum. */
const isSameAddress = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** The error for an offer that the client itself refuses. */
export function refused(offer: Offer, reason: OfferRefusal, problem: string): MarketplaceError {
  return new MarketplaceError({
    status: 402,
    code: 'OFFER_REFUSED',
    message: `${problem}; nothing was paid.`,
    details: { reason },
    payment: offer,
  });
}
