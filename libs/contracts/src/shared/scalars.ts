import { isUuid } from '@market/kernel';
import { z } from 'zod';

/** A UUID, converted to lower case. */
export const id = z
  .string({ error: 'must be a uuid' })
  .toLowerCase()
  .refine(isUuid, { error: 'must be a uuid' })
  .meta({ format: 'uuid' });
/** ISO 8601 with milliseconds, UTC. */
export const timestamp = z.string().meta({ format: 'date-time' });
/** An integer count of micros as decimal text: bigint does not survive JSON. */
export const microsText = z.string().regex(/^\d{1,18}$/);
export const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/);
export const scope = z.enum(['read', 'write', 'subscribe']);
export const currency = z.enum(['USDC', 'ETH', 'SOL']);
export const pricingModel = z.enum(['free', 'per_call', 'monthly', 'yearly', 'usage_tiered']);
export const deliveryType = z.enum(['api', 'webhook', 'streaming', 'batch', 'file']);
export const listingStatus = z.enum(['draft', 'active', 'suspended']);
/**
 * 32 random bytes as 0x-prefixed hex, which name an offer to a buyer and to a payment rail. Only lower case is valid,
 * because the id is compared as text and is part of what is signed.
 */
export const RELAY_REQUEST_ID_PATTERN = /^0x[0-9a-f]{64}$/;
const RELAY_REQUEST_ID_PROBLEM = 'must be 0x and 64 lower-case hex digits';
export const relayRequestId = z
  .string({ error: RELAY_REQUEST_ID_PROBLEM })
  .regex(RELAY_REQUEST_ID_PATTERN, { error: RELAY_REQUEST_ID_PROBLEM });

/** A transaction hash of an EVM chain, or a base58 signature of Solana. */
export const TRANSACTION_ID_PATTERN = /^(0x[0-9a-fA-F]{64}|[1-9A-HJ-NP-Za-km-z]{64,88})$/;
/** A page of an ordered list. `total` is exact. */
export const pageRequest = { page: z.number().int().min(1), limit: z.number().int().min(1) };
export const pageOf = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item), total: z.number().int() });
/**
 * The same for a list that grows while it is read. `cursor` is the id of the last item that was read; a page starts
 * after it, whatever was added meanwhile.
 */
export const cursorRequest = { ...pageRequest, cursor: id.optional() };
/** `nextCursor` is null on the last page. */
export const cursorPageOf = <T extends z.ZodType>(item: T) => pageOf(item).extend({ nextCursor: id.nullable() });

export type Scope = z.output<typeof scope>;
export type Currency = z.output<typeof currency>;
export type PricingModel = z.output<typeof pricingModel>;
export type ListingStatus = z.output<typeof listingStatus>;
