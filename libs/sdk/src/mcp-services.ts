import { exampleOf, isObject, type Json, type JsonSchema } from './json-schemas.js';
import { file, reply } from './seller-replies.js';
import type { SellerRequest } from './seller-server.js';
import { ifSmall, listingOf, type Service } from './service.js';

/** A tool as `tools/list` of an MCP server describes it. */
export interface McpTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: object;
  outputSchema?: object;
  annotations?: { title?: string };
  _meta?: Record<string, unknown>;
}
/** What `tools/call` of an MCP server answers. */
export interface McpResult {
  content?: unknown;
  structuredContent?: unknown;
  isError?: boolean;
}
export type McpCall = (
  params: { name: string; arguments: Record<string, unknown> },
  options: { signal: AbortSignal; timeout: number },
) => Promise<McpResult>;

const INVALID_PARAMS = -32602;
const LONGEST_CALL_MS = 120_000;

/**
 * Makes a service of each tool of an MCP server; `callTool` is a client's. A call is answered with the structured content
 * of the result, or else with its `content`. A tool may have fields of its listing in `_meta.market`; its `formats` name
 * the files that it answers with.
 */
export const mcpServices = (tools: readonly McpTool[], callTool: McpCall): Service[] =>
  tools.map((tool) => {
    const { name, title = tool.annotations?.title ?? name, description = title, outputSchema } = tool;
    const schema = { ...withoutIdentity(tool.inputSchema), type: 'object' };
    const service: Service = {
      id: name,
      listing: listingOf(
        {
          name: title,
          description,
          input_schema: schema,
          example_input: exampleOf(schema) as Json,
          output_schema: ifSmall(outputSchema && withoutIdentity(outputSchema)),
        },
        tool._meta?.market,
      ),
      handler: async (request) => answerOf(await called(name, request, callTool), service.listing.formats ?? []),
    };
    return service;
  });

async function called(
  name: string,
  { body, call, signal }: SellerRequest<Json>,
  callTool: McpCall,
): Promise<McpResult> {
  const timeout = Math.max(1, (call.deadline?.getTime() ?? Date.now() + LONGEST_CALL_MS) - Date.now());
  try {
    return await callTool({ name, arguments: body }, { signal, timeout });
  } catch (error) {
    if ((error as { code?: unknown }).code !== INVALID_PARAMS) throw error;
    return { content: [{ type: 'text', text: (error as Error).message }], isError: true };
  }
}

/**
 * An error that a tool reports counts as a refusal of the request: it is not charged, and no buyer can close a listing
 * by what it sends.
 */
function answerOf({ structuredContent, content, isError }: McpResult, formats: readonly string[]): unknown {
  if (isError) return reply(422, { content });
  if (structuredContent !== undefined) return structuredContent;
  const [part, ...more] = Array.isArray(content) ? (content as Json[]) : [];
  const { data, blob, mimeType } = (isObject(part?.resource) ? part.resource : (part ?? {})) as Record<string, string>;
  const bytes = data ?? blob;
  return more.length === 0 && bytes !== undefined && mimeType !== undefined && formats.includes(mimeType)
    ? file(Buffer.from(bytes, 'base64'), mimeType)
    : { content };
}

/** A schema of whichever dialect the server names is read as one of 2020-12, and has no address of its own. */
function withoutIdentity(schema: object): JsonSchema {
  const { $schema: _dialect, $id: _id, ...rest } = schema as Json;
  return rest;
}
