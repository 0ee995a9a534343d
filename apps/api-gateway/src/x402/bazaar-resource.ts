import { listingView, type ListingView } from '@market/contracts/catalog';
import { exactTerms, type ExactTerms } from '@market/contracts/payments-ledger';
import { z } from 'zod';
import { toolNameOf } from '../mcp/mcp-servers.js';

/** How a listing is called: by HTTP, or as the tool of its MCP server. */
export const RESOURCE_TYPES = ['http', 'mcp'] as const;
export type ResourceType = (typeof RESOURCE_TYPES)[number];

const jsonObject = z.record(z.string(), z.unknown());

const httpInput = z.object({
  type: z.literal('http'),
  method: z.literal('POST'),
  bodyType: z.literal('json'),
  body: jsonObject.describe('A body to send, as an example.'),
});
const mcpInput = z.object({
  type: z.literal('mcp'),
  toolName: z.string(),
  transport: z.literal('streamable-http'),
  inputSchema: jsonObject,
  example: jsonObject,
});
const bazaar = z.object({
  info: z.object({
    input: z.discriminatedUnion('type', [httpInput, mcpInput]),
    output: z
      .object({ type: z.literal('json') })
      .optional()
      .describe('There where its seller says what comes back.'),
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
  type: z.enum(RESOURCE_TYPES),
  x402Version: z.literal(2),
  accepts: z.array(exactTerms),
  lastUpdated: z.string().describe('When the listing was last changed.'),
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

/** The URL of a listing as a resource of a type. */
export const resourceUrl = (base: string, listing: Pick<ListingView, 'slug'>, type: ResourceType): string =>
  type === 'mcp' ? `${base}/mcp/${listing.slug}` : callUrl(base, listing);

/** Describes the call: a POST of the body that the seller describes, or of any JSON object. */
export const bazaarOf = ({
  input_schema,
  example_input,
  output_schema,
}: Pick<ListingView, 'input_schema' | 'example_input' | 'output_schema'>): z.output<typeof bazaar> => ({
  info: {
    input: { type: 'http', method: 'POST', bodyType: 'json', body: example_input ?? {} },
    ...outputOf(output_schema),
  },
  schema: schemaOf(
    {
      type: { type: 'string', const: 'http' },
      method: { type: 'string', enum: ['POST'] },
      bodyType: { type: 'string', enum: ['json'] },
      body: input_schema ? movedTo('input/properties/body', input_schema) : { type: 'object' },
    },
    output_schema,
  ),
});

const outputOf = (schema: Schema | null | undefined) => (schema ? { output: { type: 'json' as const } } : {});

/** Describes the tool of the listing's own MCP server. */
const mcpBazaarOf = ({ slug, input_schema, example_input, output_schema }: ListingView): z.output<typeof bazaar> => ({
  info: {
    input: {
      type: 'mcp',
      toolName: toolNameOf(slug),
      transport: 'streamable-http',
      inputSchema: input_schema ?? { type: 'object' },
      example: example_input ?? {},
    },
    ...outputOf(output_schema),
  },
  schema: schemaOf(
    {
      type: { type: 'string', const: 'mcp' },
      toolName: { type: 'string' },
      transport: { type: 'string', enum: ['streamable-http'] },
      inputSchema: { type: 'object' },
      example: { type: 'object' },
    },
    output_schema,
    ['type', 'toolName', 'inputSchema'],
  ),
});

type Schema = Record<string, unknown>;

/** An answer has the place of an example in the output. */
const schemaOf = (
  properties: Schema,
  answer: Schema | null | undefined,
  required = Object.keys(properties),
): Schema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    input: { type: 'object', properties, required, additionalProperties: false },
    ...(answer && {
      output: {
        type: 'object',
        properties: { type: { type: 'string', const: 'json' }, example: movedTo('output/properties/example', answer) },
        required: ['type'],
      },
    }),
  },
  required: ['input'],
});

/** Moves the schema's references to its place within the surrounding schema. */
function movedTo(place: string, { $schema: _dialect, ...schema }: Schema): unknown {
  const moved = (key: string, value: unknown): unknown =>
    key === '$ref' ? `#/properties/${place}${String(value).slice(1)}` : value;
  return JSON.parse(JSON.stringify(schema, moved));
}

export function toResource(
  base: string,
  listing: ListingView,
  terms: ExactTerms[],
  type: ResourceType,
): BazaarResource {
  const { name, description, tags, logo_url, updated_at } = listing;
  return {
    resource: resourceUrl(base, listing, type),
    type,
    x402Version: 2,
    accepts: terms,
    lastUpdated: updated_at,
    description: `${name}: ${description}`,
    mimeType: 'application/json',
    ...serviceNameOf(name),
    tags: tags.filter(isShortAscii).slice(0, MAX_TAGS),
    ...(logo_url?.startsWith('https://') ? { iconUrl: logo_url } : {}),
    quality: listing.quality,
    extensions: { bazaar: type === 'mcp' ? mcpBazaarOf(listing) : bazaarOf(listing) },
  };
}
