import type { NewEvent } from './account-events.js';

/**
 * One event for the buyer and one for the seller, each of whom reads which of the two it is. The seller learns who buys.
 * @param onlyBuyers what the seller has no part in.
 */
export const toBothSides = (
  { buyerId, sellerId }: { buyerId: string; sellerId: string },
  { data, ...event }: Omit<NewEvent, 'accountId'>,
  onlyBuyers: Record<string, unknown> = {},
): NewEvent[] => [
  { ...event, accountId: buyerId, data: { role: 'buyer', ...onlyBuyers, ...data } },
  { ...event, accountId: sellerId, data: { role: 'seller', buyer_id: buyerId, ...data } },
];
