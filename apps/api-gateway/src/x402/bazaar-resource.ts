import { listingView, type ListingView } from '@market/contracts/catalog';
import { exactTerms, type ExactTerms } from '@market/contracts/payments-ledger';
import { z } from 'zod';

export const RESOURCE_TYPE = 'http';
export const SCHEME = exactTerms.shape.scheme.value;

const jsonObject = z.record(z.string(), z.unknown());

const bazaar = z.object({
  info: z.object({
    input: z.object({
      type: z.literal(RESOURCE_TYPE),
      method: z.literal('POST'),
      bodyType: z.literal('json'),
      body: jsonObject.describe('An example.'),
    }),
  }),
  schema: jsonObject.describe('JSON Schema of info.'),
});

export const EXTENSIONS = ['bazaar'] as const satisfies (keyof z.output<typeof bazaarResource>['extensions'])[];

/**
 * A call for sale, in the format of facilitators' lists. `accepts` is empty if no chain accepts a signed authorization
 * of the price. `serviceName`, `tags` and `iconUrl` contain only values within the limits of version 2: printable
 * ASCII, at most 32 characters per text and 5 tags. Source: x402-specification-v2.md and extensions/bazaar.md of
 * github.com/coinbase/x402.
 */
export const bazaarResource = z.object({
  resource: z.string(),
  type: z.literal(RESOURCE_TYPE),
  x402Version: z.literal(2),
  accepts: z.array(exactTerms),
  lastUpdated: z.string(),
  description: z.string(),
  mimeType: z.literal('application/json'),
  serviceName: z.string().optional(),
  tags: z.array(z.string()),
  iconUrl: z.string().optional(),
  quality: listingView.shape.quality,
  extensions: z.object({ bazaar }),
});
export type BazaarResource = z.output<typeof bazaarResource>;

const MAX_TAGS = 5;
const isShortAscii = (text: string): boolean => /^[ -~]{1,32}$/.test(text);

export const serviceNameOf = (name: string): { serviceName?: string } =>
  isShortAscii(name) ? { serviceName: name } : {};

/** The URL of calls without a key. @param base the marketplace's own address, without a trailing slash. */
export const callUrl = (base: string, { slug }: Pick<ListingView, 'slug'>): string => `${base}/api/v1/x402/${slug}`;

/** Describes the call: a POST of the body that the seller describes, or of any JSON object. */
export const bazaarOf = ({
  input_schema,
  example_input,
}: Pick<ListingView, 'input_schema' | 'example_input'>): z.output<typeof bazaar> => ({
  info: { input: { type: RESOURCE_TYPE, method: 'POST', bodyType: 'json', body: example_input ?? {} } },
  schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      input: {
        type: 'object',
        properties: {
          type: { type: 'string', const: RESOURCE_TYPE },
          method: { type: 'string', enum: ['POST'] },
          bodyType: { type: 'string', enum: ['json'] },
          body: input_schema ? withinBody(input_schema) : { type: 'object' },
        },
        required: ['type', 'method', 'bodyType', 'body'],
        additionalProperties: false,
      },
    },
    required: ['input'],
  },
});

/** Moves the schema's references to its place within the surrounding schema. */
function withinBody({ $schema: _dialect, ...schema }: Record<string, unknown>): unknown {
  const moved = (key: string, value: unknown): unknown =>
    key === '$ref' ? `#/properties/input/properties/body${String(value).slice(1)}` : value;
  return JSON.parse(JSON.stringify(schema, moved));
}

export function toResource(base: string, listing: ListingView, terms: ExactTerms[]): BazaarResource {
  const { name, description, tags, logo_url, created_at } = listing;
  return {
    resource: callUrl(base, listing),
    type: RESOURCE_TYPE,
    x402Version: 2,
    accepts: terms,
    lastUpdated: created_at,
    description: `${name}: ${description}`,
    mimeType: 'application/json',
    ...serviceNameOf(name),
    tags: tags.filter(isShortAscii).slice(0, MAX_TAGS),
    ...(logo_url?.startsWith('https://') ? { iconUrl: logo_url } : {}),
    quality: listing.quality,
    extensions: { bazaar: bazaarOf(listing) },
  };
}
