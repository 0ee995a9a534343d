import { bundle } from '@apidevtools/json-schema-ref-parser';
import { Client, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { mcpServices, openApiServices, type McpCall, type Service } from '@market/sdk/seller';
import { env, platform } from 'node:process';
import { CommandError, EXIT, headerOf } from './cli.js';

export interface Upstream {
  upstream?: string;
  openapi?: string;
  mcp?: string;
  upstreamHeader: string[];
}

/** What a server has that can be sold. */
export interface Offered {
  /** Names the server, whatever its address is. */
  origin: string;
  services: Service[];
  left: { id: string; reason: string }[];
  close(): Promise<void>;
}
type Headers = Record<string, string>;

export function servicesBehind({ mcp, upstreamHeader, ...api }: Upstream): Promise<Offered> {
  const sent = Object.fromEntries(upstreamHeader.map(headerOf).map(({ name, value }) => [name, value]));
  return mcp ? behindMcp(mcp, sent) : behindOpenApi(api, sent);
}

async function behindOpenApi(
  { upstream, openapi }: Omit<Upstream, 'mcp' | 'upstreamHeader'>,
  headers: Headers,
): Promise<Offered> {
  const source = openapi ?? `${upstream?.replace(/\/+$/, '')}/openapi.json`;
  const options = { resolve: { http: { headers, safeUrlResolver: false } } };
  const document = (await bundle(source, options).catch(
    failWith(`There is no OpenAPI document at ${source}, so name its file or address with --openapi`),
  )) as { info?: { title?: string }; servers?: { url: string }[] };
  const stated = document.servers?.[0]?.url ?? '/';
  const base = upstream ?? (URL.canParse(stated, source) ? new URL(stated, source).href : undefined);
  if (!base) throw new CommandError(`${source} does not say where the API is: name it with --upstream`, EXIT.usage);
  const services = openApiServices(document, { upstream: base, headers });
  return { origin: `openapi ${document.info?.title}`, ...services, close: async () => undefined };
}

async function behindMcp(target: string, headers: Headers): Promise<Offered> {
  let open: Promise<Client> | undefined;
  /** Connects anew after the server ended or forgot its session. */
  const client = (): Promise<Client> => {
    open ??= connected(target, headers, () => (open = undefined)).catch((error: unknown) => {
      open = undefined;
      throw error;
    });
    return open;
  };
  const call: McpCall = async (params, options) =>
    (await client()).callTool(params, options).catch((error: unknown) => {
      if (error instanceof SdkHttpError) open = undefined;
      throw error;
    });
  const first = await client().catch(failWith(`There is no MCP server at ${target}`));
  return {
    origin: `mcp ${first.getServerVersion()?.name}`,
    services: mcpServices((await first.listTools()).tools, call),
    left: [],
    close: async () => (await open)?.close(),
  };
}

const failWith =
  (words: string) =>
  (error: unknown): never => {
    throw new CommandError(`${words}: ${error instanceof Error ? error.message : String(error)}`);
  };

async function connected(target: string, headers: Headers, onclose: () => void): Promise<Client> {
  const client = new Client(
    { name: 'market', version: '1.0.0' },
    {
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: 2_000 } },
      // Whether an answer fits the tool's own schema decides about no money, as everywhere in the marketplace.
      jsonSchemaValidator: {
        getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
      },
    },
  );
  await client.connect(
    /^https?:\/\//.test(target)
      ? new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers } })
      : new StdioClientTransport(spawned(target)),
  );
  client.onclose = onclose;
  return client;
}

/** A command line, for the shell. Its server may need keys of its own, but none of the marketplace. */
function spawned(commandLine: string): { command: string; args: string[]; env: Record<string, string> } {
  const own = Object.entries(env).filter(([name]) => !name.startsWith('MARKET_')) as [string, string][];
  return platform === 'win32'
    ? { command: 'cmd', args: ['/d', '/s', '/c', commandLine], env: Object.fromEntries(own) }
    : { command: 'sh', args: ['-c', `exec ${commandLine}`], env: Object.fromEntries(own) };
}
