import type { JsonSchema } from './json-schemas.js';
import type { SellerHandler } from './seller-server.js';
import type { CreateListing } from './types.js';

/** Something to sell: what its listing says, and what answers its calls. */
export interface Service {
  /** Stays the same when the listing's name changes. */
  id: string;
  listing: Partial<CreateListing> & { name: string; description: string };
  handler: SellerHandler<Record<string, unknown>>;
}

const fitted = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** The fields of a listing, cut to what one may have; what its seller wrote beside the service comes last. */
export const listingOf = (
  { name, description, tags = [], ...fields }: Service['listing'],
  written: unknown,
): Service['listing'] => ({
  name: fitted(name.padEnd(2, '.'), 100),
  description: fitted(description.length < 10 ? `${name}: ${description}`.padEnd(10, '.') : description, 5_000),
  tags: tags.map((tag) => fitted(tag, 50)).slice(0, 20),
  ...fields,
  ...(written as Partial<CreateListing>),
});

/** The schema, unless it is larger than a listing's may be. */
export const ifSmall = (schema: JsonSchema | undefined): JsonSchema | undefined =>
  schema && Buffer.byteLength(JSON.stringify(schema)) <= 16_384 ? schema : undefined;
