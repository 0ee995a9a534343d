import { EVENT_STREAM, executeCall } from '@market/contracts/gateway';
import { refuse } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { createMcpHandler, type McpServer, type Server } from '@modelcontextprotocol/server';
import { Controller, Inject, Logger, Param, Post, Req, Res } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { bodyMalformed, unauthorized } from '../http/edge-refusals.js';
import { problemOfText } from '../http/json-body.js';
import { CALL_RULES } from '../gateway/send-answer.js';
import { refOr } from '../http/values.js';
import type { Caller } from './caller.js';
import { CallersInterface } from './callers-interface.js';
import { speaksMpp } from './mpp-over-mcp.js';
import { listingServer, marketplaceServer, type ListedTool } from './mcp-servers.js';

/** The maximum size of the JSON-RPC message around the body of a call. */
const ENVELOPE_BYTES = 65_536;
const rules = {
  recognizes: true,
  body: 'opaque',
  bodyLimitBytes: CALL_RULES.bodyLimitBytes + ENVELOPE_BYTES,
  waitsForSeller: true,
  rate: 'reads',
} as const;

/**
 * The Model Context Protocol over stateless Streamable HTTP, for clients of the 2025 and 2026 revisions. Each request
 * gets its own server, and there are no sessions. Tools send requests to the HTTP interface for the same caller.
 */
@ApiExcludeController()
@Controller('mcp')
export class McpHttpController {
  private readonly logger = new Logger('Mcp');
  private readonly publicUrl: string;

  constructor(
    private readonly host: HttpAdapterHost,
    @Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>,
  ) {
    this.publicUrl = publicUrl;
  }

  @Post()
  @Public(rules)
  async serveMarketplace(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const caller = this.callerOf(request);
    await this.serve(caller, reply, () => marketplaceServer(caller));
  }

  @Post(':listing')
  @Public(rules)
  async serveListing(
    @Param('listing') listing: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const caller = this.callerOf(request);
    const ref = refOr(listing, () => refuse(executeCall, 'listing_not_found', {}));
    const { status, json } = await caller.api.send('GET', `/api/v1/listings/${ref}`);
    if (!json.success) return void reply.status(status).send(json);
    await this.serve(caller, reply, () => listingServer(caller, json.data as ListedTool));
  }

  /** An invalid key is refused instead of ignored, because its sender intends to pay with it. */
  private callerOf(request: FastifyRequest): Caller {
    const hasKey = request.headers.authorization !== undefined || request.headers['x-api-key'] !== undefined;
    if (hasKey && !request.context.principal) throw unauthorized();
    const api = new CallersInterface(this.host.httpAdapter.getInstance<FastifyInstance>(), request);
    return { api, hasKey, publicUrl: this.publicUrl };
  }

  private async serve(caller: Caller, reply: FastifyReply, server: () => McpServer | Server): Promise<void> {
    const { request } = caller.api;
    const body = request.body as string;
    const message = messageOf(body);
    const handler = createMcpHandler(server, {
      // The server has no changes to notify clients of.
      maxSubscriptions: 0,
      onerror: (error) => this.logger.debug(`[${request.id}] ${error.message}`),
    });
    const headers = Object.entries(request.headers).filter(([name]) => /^(content-type|mcp-.*)$/.test(name));
    headers.push(['accept', acceptOf(request)]);
    const sent = { method: 'POST', headers: headers as [string, string][], body, signal: hungUp(reply) };
    const answer = await handler.fetch(new Request(`${this.publicUrl}${request.url}`, sent), { parsedBody: message });
    const type = answer.headers.get('content-type') ?? 'application/json';
    const isMpp = speaksMpp(request.headers, message.params?._meta);
    // What a client is told while it waits is sent at once.
    if (type.startsWith(EVENT_STREAM) && !isMpp) return void reply.status(answer.status).type(type).send(answer.body);
    const text = await answer.text();
    // The SDK keeps the codes of this error for itself, so no handler can answer with it.
    if (caller.mppError && isMpp) return void reply.send({ jsonrpc: '2.0', id: message.id, error: caller.mppError });
    void reply.status(answer.status).type(type).send(text);
  }
}

/** Aborted when the client waits for nothing more. */
function hungUp(reply: FastifyReply): AbortSignal {
  const closed = new AbortController();
  reply.raw.once('close', () => closed.abort());
  return closed.signal;
}

/** The transport asks for both types by name, and plain HTTP clients take everything. */
function acceptOf({ headers: { accept = '*/*' } }: FastifyRequest): string {
  return /\*\/\*/.test(accept) ? 'application/json, text/event-stream' : accept;
}

/** @throws Refusal if the body is not one JSON-RPC message; the protocol no longer has batches. */
function messageOf(text: string): { id?: unknown; params?: { _meta?: Record<string, unknown> } } {
  const message = parse(text);
  if (typeof message !== 'object' || message === null || Array.isArray(message))
    throw bodyMalformed('the body is not one JSON-RPC message');
  const problem = problemOfText(text);
  if (problem !== undefined) throw bodyMalformed(problem);
  return message;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
