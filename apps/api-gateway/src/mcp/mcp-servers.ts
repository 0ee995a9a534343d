import { createHash } from 'node:crypto';
import { listingOrder } from '@market/contracts/catalog';
import {
  McpServer,
  Server,
  type CallToolResult,
  type Implementation,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { INTERFACE_VERSION } from '../platform/interface-version.js';
import { callListing, type Waiting } from './call-listing.js';
import type { Caller } from './caller.js';
import { getRequest } from './get-request.js';
import { serveTasks, takesTasks } from './tasks.js';
import { resultOf, toolResult } from './tool-result.js';
import { progressTo } from './working.js';

interface ListingSummary {
  slug: string;
  name: string;
  description: string;
  pricing_model: string;
  pricing_amount: number;
  usage?: object | null;
  tags: string[];
  quality: object | null;
  rating: object | null;
  provider: { display_name: string };
  category: { name: string } | null;
}

/** The fields of a listing that its own server shows. */
export interface ListedTool extends Pick<ListingSummary, 'slug' | 'name' | 'description' | 'pricing_amount' | 'usage'> {
  delivery_type: string;
  input_schema: Record<string, unknown> | null;
  example_input: object | null;
}

const MAX_SUMMARY = 300;
const MAX_TOOL_NAME = 64;
const DIGEST_CHARS = 8;
const IDEMPOTENCY_KEY = 'market/idempotency-key';

const getRequestInput = z.strictObject({ request_id: z.uuid().describe('Of the answer of the call.') });
const GET_REQUEST = {
  name: 'get_request',
  title: 'Ask for a call again',
  description:
    'What became of a call, for one whose answer was status: "working", because its seller takes its time: the result as ' +
    'the call itself would give it, or how far it is. Waits up to 20 seconds; ask again after retry_after_seconds. ' +
    'Needs an API key; without one, repeat the call with the same payment.',
  annotations: { readOnlyHint: true },
};

const waitingOf = (server: Server, context: ServerContext): Waiting => ({
  meta: context.mcpReq._meta,
  tell: progressTo(context),
  takesTasks: takesTasks(server),
});

const implementation = (name: string, title: string): Implementation => ({ name, title, version: INTERFACE_VERSION });

const HOW_TO_PAY =
  'A call that costs something and is not paid answers with what to pay: an x402 client signs it and ' +
  'repeats the call; with an API key, pay relay_request_id and repeat the call with it and the same body. ' +
  'Nothing is charged for a call that the seller did not deliver. A call whose answer has status: "working" is being ' +
  'done: get_request gives its result.';

/** Offers the whole marketplace in a few tools, which find, read and call listings. */
export function marketplaceServer(caller: Caller): McpServer {
  const { api, publicUrl } = caller;
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
      description: 'Finds services for sale, the best match first; a page of summaries.',
      inputSchema: z.strictObject({
        query: z
          .string()
          .max(1_000)
          .optional()
          .describe('What is needed, in words or a sentence of any language; the rarer a word, the more it counts.'),
        max_price_usd: z.number().min(0).max(1_000_000).optional(),
        live: z.boolean().default(false).describe('Only what works now.'),
        min_success: z
          .number()
          .min(0)
          .max(1)
          .optional()
          .describe('The least part of the calls of 30 days that was delivered.'),
        facets: z.boolean().default(false).describe('Also counts what was found by category and other values.'),
        sort: listingOrder.optional(),
        page: z.int().min(1).max(1_000).default(1),
        limit: z.int().min(1).max(50).default(10),
      }),
      annotations: { readOnlyHint: true },
    },
    async ({ query, max_price_usd, min_success, facets, sort = query?.trim() ? 'relevance' : 'popular', ...rest }) => {
      const wanted = {
        q: query,
        max_price_usd: max_price_usd?.toFixed(6),
        min_success: min_success?.toFixed(4),
        include: facets ? 'ways_to_pay,facets' : 'ways_to_pay',
        pricing_model: 'per_call',
        sort,
        ...rest,
      };
      const given = Object.entries(wanted).filter(([, value]) => value !== undefined);
      const parameters = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]));
      const answer = await api.send('GET', `/api/v1/listings?${parameters}`);
      if (!answer.json.success) return resultOf(answer);
      const ways = (answer.json.ways_to_pay ?? []) as { currency: string; minimum_usd: number }[];
      // The price comes first, so that no text of a seller can name another one before it.
      const listings = (answer.json.data as ListingSummary[]).map((listing) => ({
        price_usd: listing.pricing_amount,
        ...(listing.usage && { price_is: 'the most, charged by use' }),
        listing: listing.slug,
        name: listing.name,
        description: listing.description.slice(0, MAX_SUMMARY),
        pay_in: [
          ...new Set(ways.filter((way) => way.minimum_usd <= listing.pricing_amount).map((way) => way.currency)),
        ],
        tags: listing.tags,
        category: listing.category?.name ?? null,
        provider: listing.provider.display_name,
        quality: listing.quality,
        rating: listing.rating,
      }));
      const { pagination, search, facets: counted } = answer.json;
      return toolResult({ listings, pagination, search, ways_to_pay: ways, facets: counted });
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
    async ({ listing }) => {
      const { json, ...answer } = await api.send('GET', `/api/v1/listings/${encodeURIComponent(listing)}`);
      if (!json.success) return resultOf({ json, ...answer });
      const { pricing_model, pricing_amount, ...shown } = json.data as ListingSummary;
      return toolResult({ pricing_model, pricing_amount, ...shown });
    },
  );
  server.registerTool(
    'call_listing',
    {
      title: 'Call a listing, and pay for it',
      description:
        `Calls a listing and gives the seller's answer as seller_response, and a file as content. ${HOW_TO_PAY} In a sandbox a call with ` +
        'an API key is paid at once, with play money. Every call without relay_request_id or idempotency_key may be ' +
        'charged: repeat both where an answer was lost.',
      inputSchema: z.strictObject({
        listing: z.string().max(150).describe('Its slug or uuid.'),
        body: z.record(z.string(), z.unknown()).optional().describe("What the listing's input_schema asks for."),
        file: z
          .strictObject({ content_type: z.string().max(200), base64: z.base64() })
          .optional()
          .describe("Instead of body, where the listing's request_formats name its type."),
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
    (wanted, context) => callListing(caller, wanted, waitingOf(server.server, context)),
  );
  server.registerTool(GET_REQUEST.name, { ...GET_REQUEST, inputSchema: getRequestInput }, ({ request_id }, context) =>
    getRequest(caller, request_id, progressTo(context)),
  );
  serveTasks(server.server, caller);
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

/** A slug that is too long is cut and ends with a part of its digest, so that two of them stay apart. */
export function toolNameOf(slug: string): string {
  if (slug.length <= MAX_TOOL_NAME) return slug;
  const digest = createHash('sha256').update(slug).digest('hex').slice(0, DIGEST_CHARS);
  return `${slug.slice(0, MAX_TOOL_NAME - DIGEST_CHARS - 1)}-${digest}`;
}

/**
 * Offers one listing as one tool, whose arguments are the body of a call, and if it answers by jobs, the one that asks for
 * a call again. The call route checks them.
 */
export function listingServer(caller: Caller, listing: ListedTool): Server {
  const { slug, name, description, pricing_amount, usage, delivery_type, input_schema, example_input } = listing;
  const price = usage ? `at most $${pricing_amount} a call, charged by use` : `$${pricing_amount} a call`;
  const example = example_input ? ` Example: ${JSON.stringify(example_input)}` : '';
  const tool = {
    name: toolNameOf(slug),
    title: name,
    // The price comes first, so that a description cannot name another one before it.
    description: `Costs ${price}.${example}\n\n${description}`,
    inputSchema: { ...input_schema, type: 'object' as const },
    annotations: { destructiveHint: true, idempotentHint: false, openWorldHint: true },
  };
  const server = new Server(implementation(tool.name, name), { capabilities: { tools: {} }, instructions: HOW_TO_PAY });
  const again = { ...GET_REQUEST, inputSchema: z.toJSONSchema(getRequestInput) as typeof tool.inputSchema };
  const isByJobs = delivery_type === 'webhook' || delivery_type === 'batch';
  server.setRequestHandler('tools/list', () => ({ tools: isByJobs ? [tool, again] : [tool] }));
  serveTasks(server, caller);
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const { arguments: body = {}, _meta: meta = {} } = params;
    // Any seller may take a call as a job.
    if (params.name === GET_REQUEST.name) {
      const asked = getRequestInput.safeParse(body);
      if (asked.success) return getRequest(caller, asked.data.request_id, progressTo(context));
      return toolResult({ error: { message: z.prettifyError(asked.error) } }, { isError: true });
    }
    if (params.name !== tool.name)
      return toolResult({ error: { message: `the tool of this listing is ${tool.name}` } }, { isError: true });
    const key = meta[IDEMPOTENCY_KEY];
    return callListing(
      caller,
      { listing: slug, body, idempotency_key: typeof key === 'string' ? key : undefined },
      waitingOf(server, context),
    );
  });
  return server;
}
