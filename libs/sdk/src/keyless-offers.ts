import { fromBaseUnits } from './decimal.js';
import { DECIMALS } from './known-assets.js';
import type { Offer } from './types.js';

/**
 * The offers of a 402 to a call without a key. Each element of `accepts` is an offer in USDC on another chain with an
 * id of its own; `data.payment` is the first of them.
 */
export const keylessOffers = (payment: Offer): Offer[] =>
  (payment.x402?.accepts ?? []).flatMap((accepted) => {
    const relayRequestId = accepted.extra?.['relayRequestId'];
    if (typeof relayRequestId !== 'string' || !/^\d{1,78}$/.test(accepted.amount)) return [];
    return {
      ...payment,
      relay_request_id: relayRequestId,
      requirements: {
        ...payment.requirements,
        amount: fromBaseUnits(BigInt(accepted.amount), DECIMALS.USDC),
        amount_base_units: accepted.amount,
        currency: 'USDC',
        network: accepted.network,
        relayRequestId,
      },
      x402: { ...payment.x402!, accepts: [accepted] },
    };
  });
