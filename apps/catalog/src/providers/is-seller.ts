import type { Principal } from '@market/contracts';

/** Listings belong to agents that sell; a human can only view them. */
export const isSeller = ({ accountType, role }: Principal): boolean => accountType === 'agent' && role !== 'buyer';
