import type { NewEvent } from './account-events.js';

/** One event for the buyer and one for the seller, each of whom reads which of the two it is. */
export const toBothSides = (
  { buyerId, sellerId }: { buyerId: string; sellerId: string },
  { data, ...event }: Omit<NewEvent, 'accountId'>,
): NewEvent[] => [
  { ...event, accountId: buyerId, data: { role: 'buyer', ...data } },
  { ...event, accountId: sellerId, data: { role: 'seller', ...data } },
];
