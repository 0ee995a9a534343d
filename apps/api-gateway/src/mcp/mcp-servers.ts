import { listingOrder } from '@market/contracts/catalog';
import { McpServer, Server, type CallToolResult, type Implementation } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { INTERFACE_VERSION } from '../platform/interface-version.js';
import { callListing, type Caller } from './call-listing.js';
import { resultOf, toolResult } from './tool-result.js';

interface ListingSummary {
  slug: string;
  name: string;
  description: string;
  pricing_model: string;
  pricing_amount: number;
  tags: string[];
  quality: object | null;
  provider: { display_name: string };
  category: { name: string } | null;
}

/** The fields of a listing that its own server shows. */
export interface ListedTool extends Pick<ListingSummary, 'slug' | 'name' | 'description' | 'pricing_amount'> {
  input_schema: Record<string, unknown> | null;
  example_input: object | null;
}

const MAX_SUMMARY = 300;
const MAX_TOOL_NAME = 64;
const IDEMPOTENCY_KEY = 'market/idempotency-key';

const implementation = (name: string, title: string): Implementation => ({ name, title, version: INTERFACE_VERSION });

const HOW_TO_PAY =
  'A call that costs something and is not paid answers with what to pay: an x402 client signs it and ' +
  'repeats the call; with an API key, pay relay_request_id and repeat the call with it and the same body. ' +
  'Nothing is charged for a call that the seller did not deliver.';

/** Offers the whole marketplace in a few tools, which find, read and call listings. */
export function marketplaceServer(caller: Caller, publicUrl: string): McpServer {
  const { api } = caller;
  const server = new McpServer(implementation('agent-marketplace', 'Agent Marketplace'), {
    instructions:
      'Find services that other agents sell, and pay for each call. search_listings, then get_listing, which shows ' +
      `what to send, then call_listing. ${HOW_TO_PAY}`,
  });
  const get = async (path: string): Promise<CallToolResult> => resultOf(await api.send('GET', `/api/v1${path}`));

  server.registerTool(
    'search_listings',
    {
      title: 'Search listings',
      description: 'Finds services for sale. Full text over name, description and tags; a page of summaries.',
      inputSchema: z.strictObject({
        query: z.string().max(200).optional().describe('Words; quotes, OR and - work as in web search.'),
        max_price_usd: z.number().min(0).max(1_000_000).optional(),
        live: z.boolean().default(false).describe('Only what works now.'),
        sort: listingOrder.default('popular'),
        page: z.int().min(1).max(1_000).default(1),
        limit: z.int().min(1).max(50).default(10),
      }),
      annotations: { readOnlyHint: true },
    },
    async ({ query, max_price_usd, ...rest }) => {
      const wanted = { q: query, max_price: max_price_usd?.toFixed(6), pricing_model: 'per_call', ...rest };
      const given = Object.entries(wanted).filter(([, value]) => value !== undefined);
      const parameters = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]));
      const answer = await api.send('GET', `/api/v1/listings?${parameters}`);
      if (!answer.json.success) return resultOf(answer);
      const listings = (answer.json.data as ListingSummary[]).map((listing) => ({
        listing: listing.slug,
        name: listing.name,
        description: listing.description.slice(0, MAX_SUMMARY),
        price_usd: listing.pricing_amount,
        tags: listing.tags,
        category: listing.category?.name ?? null,
        provider: listing.provider.display_name,
        quality: listing.quality,
      }));
      return toolResult({ listings, pagination: answer.json.pagination });
    },
  );
  server.registerTool(
    'get_listing',
    {
      title: 'Show a listing',
      description:
        'One listing in full: its price, input_schema and example_input (what to send), output_schema, rating, quality (measured).',
      inputSchema: z.strictObject({ listing: z.string().max(150).describe('Its slug or uuid.') }),
      annotations: { readOnlyHint: true },
    },
    ({ listing }) => get(`/listings/${encodeURIComponent(listing)}`),
  );
  server.registerTool(
    'call_listing',
    {
      title: 'Call a listing, and pay for it',
      description:
        `Calls a listing and gives the seller's answer as seller_response. ${HOW_TO_PAY} In a sandbox a call with ` +
        'an API key is paid at once, with play money. Every call without relay_request_id or idempotency_key may be ' +
        'charged: repeat both where an answer was lost.',
      inputSchema: z.strictObject({
        listing: z.string().max(150).describe('Its slug or uuid.'),
        body: z.record(z.string(), z.unknown()).describe("What the listing's input_schema asks for."),
        relay_request_id: z.string().max(66).optional().describe('Of a payment that was asked for and made.'),
        idempotency_key: z
          .string()
          .max(255)
          .optional()
          .describe('One for each purchase, the same in every attempt at it.'),
        max_price_usd: z.number().min(0).optional().describe('Pays no more than this by itself.'),
      }),
      annotations: { destructiveHint: true, idempotentHint: false, openWorldHint: true },
    },
    (wanted, { mcpReq }) => callListing(caller, wanted, mcpReq._meta),
  );
  server.registerTool(
    'get_receipt',
    {
      title: 'Show a receipt',
      description: 'A receipt with its signed proof, or without receipt_id the latest ten. Needs an API key.',
      inputSchema: z.strictObject({ receipt_id: z.uuid().optional() }),
      annotations: { readOnlyHint: true },
    },
    async ({ receipt_id }) => {
      if (receipt_id === undefined) {
        const { json, ...answer } = await api.send('GET', '/api/v1/receipts?limit=10');
        return json.success ? toolResult({ receipts: json.data }) : resultOf({ json, ...answer });
      }
      const receipt = await get(`/receipts/${receipt_id}`);
      if (receipt.isError) return receipt;
      const proof = await get(`/receipts/${receipt_id}/proof`);
      return toolResult({ receipt: receipt.structuredContent, proof: proof.structuredContent });
    },
  );
  for (const { name, path, mimeType, description } of DOCUMENTS)
    server.registerResource(name, `${publicUrl}${path}`, { description, mimeType }, async (uri) => ({
      contents: [{ uri: uri.href, mimeType, text: (await api.send('GET', path)).text }],
    }));
  return server;
}

const DOCUMENTS = [
  { name: 'guide', path: '/llms.txt', mimeType: 'text/plain', description: 'The marketplace in one page.' },
  { name: 'openapi', path: '/api/v1/openapi.json', mimeType: 'application/json', description: 'The HTTP interface.' },
  {
    name: 'recovery-actions',
    path: '/api/v1/recovery-actions',
    mimeType: 'application/json',
    description: 'What error.recovery.next_action can say, and what it means.',
  },
];

/** Offers one listing as one tool, whose arguments are the body of a call. The call route checks them. */
export function listingServer(caller: Caller, listing: ListedTool): Server {
  const { slug, name, description, pricing_amount, input_schema, example_input } = listing;
  const example = example_input ? ` Example: ${JSON.stringify(example_input)}` : '';
  const tool = {
    name: slug.slice(0, MAX_TOOL_NAME),
    title: name,
    description: `${description}\n\nCosts $${pricing_amount} a call.${example}`,
    inputSchema: { ...input_schema, type: 'object' as const },
    annotations: { destructiveHint: true, idempotentHint: false, openWorldHint: true },
  };
  const server = new Server(implementation(tool.name, name), { capabilities: { tools: {} }, instructions: HOW_TO_PAY });
  server.setRequestHandler('tools/list', () => ({ tools: [tool] }));
  server.setRequestHandler('tools/call', ({ params }) => {
    const { arguments: body = {}, _meta: meta = {} } = params;
    if (params.name !== tool.name)
      return toolResult({ error: { message: `the only tool here is ${tool.name}` } }, { isError: true });
    const key = meta[IDEMPOTENCY_KEY];
    return callListing(
      caller,
      { listing: slug, body, idempotency_key: typeof key === 'string' ? key : undefined },
      meta,
    );
  });
  return server;
}
