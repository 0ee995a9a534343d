import { addDecimals, compareDecimals, formatUsd, multiplyDecimals, toBaseUnits, type DecimalLike } from './decimal.js';
import { MarketplaceError } from './errors.js';
import { DECIMALS } from './known-assets.js';
import type { Offer, PaymentRoute } from './types.js';

export interface OfferLimits {
  /** USD; neither the stated price nor what is really to be paid may be above it. None where it is undefined. */
  maxPriceUsd?: DecimalLike;
  /** USD; the price the caller knows the listing by. */
  listedPriceUsd?: DecimalLike;
  /** USD that an offer may ask above its price for the route it takes. */
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

/** With less time than this to the end of an offer, its payment may come too late. */
const MIN_MS_LEFT = 15_000;
/** How far a coin's price may move between the offer and the look at it. */
const PRICE_MOVEMENT = '1.05';

/**
 * Looks at an offer as a careful buyer, before anything is paid: it is for this call, still good, of one mind about where
 * and how much, and asks no more than its price and the limits allow. Coins are valued by the route's own unit price.
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
  for (const { scheme, network, payTo, amount: signed, extra } of offer.x402?.accepts ?? []) {
    const agrees =
      scheme !== 'exact' ||
      (network === requirements.network &&
        (!requirements.depositAddress || isSameAddress(payTo, requirements.depositAddress)) &&
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

/** Of EVM chains, which differ in letter case alone by their checksum. */
const isSameAddress = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** The client's own refusal of an offer. */
export function refused(offer: Offer, reason: OfferRefusal, problem: string): MarketplaceError {
  return new MarketplaceError({
    status: 402,
    code: 'OFFER_REFUSED',
    message: `${problem}; nothing was paid.`,
    details: { reason },
    payment: offer,
  });
}
