import type { NewEvent } from './account-events.js';

/**
 * Creates one event for the buyer and one for the seller, each with the role of its reader. The seller's event names
 * the buyer.
 * @param onlyBuyers fields that only the buyer gets.
 */
export const toBothSides = (
  { buyerId, sellerId }: { buyerId: string; sellerId: string },
  { data, ...event }: Omit<NewEvent, 'accountId'>,
  onlyBuyers: Record<string, unknown> = {},
): NewEvent[] => [
  { ...event, accountId: buyerId, data: { role: 'buyer', ...onlyBuyers, ...data } },
  { ...event, accountId: sellerId, data: { role: 'seller', buyer_id: buyerId, ...data } },
];
