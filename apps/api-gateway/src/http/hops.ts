import { HOP_HEADER } from '@market/contracts/gateway';
import type { FastifyRequest } from 'fastify';

/** A longer chain has no use, and may be a loop among marketplaces that do not check for their own names. */
const MAX_HOPS = 4;
const HOP = /^[a-z0-9.:[\]-]{1,255}$/;

/**
 * Returns the marketplaces that the request has passed through, according to its header; undefined without the header.
 */
export function hopsOf({ headers }: FastifyRequest): string[] | undefined {
  const given = headers[HOP_HEADER.toLowerCase()];
  if (given === undefined) return undefined;
  return String(given)
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => HOP.test(name));
}

export const isLoop = (hops: string[], own: string): boolean => hops.includes(own) || hops.length > MAX_HOPS;
