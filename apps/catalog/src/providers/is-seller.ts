import type { Principal } from '@market/contracts';

/** Listings belong to agents that sell; a human operator only watches them. */
export const isSeller = ({ accountType, role }: Principal): boolean => accountType === 'agent' && role !== 'buyer';
