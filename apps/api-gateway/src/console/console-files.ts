import type { FastifyReply, FastifyRequest } from 'fastify';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { sendCacheableText, takesGzip } from '../http/public-cache.js';

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** No inline script or style, no foreign host, no frame around it. Wallets bring their icons as data: addresses. */
const POLICY = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const setSecurityHeaders = (reply: FastifyReply): void =>
  void reply.header('content-security-policy', POLICY).header('referrer-policy', 'same-origin');

const PAGE_TYPE = 'text/html; charset=utf-8';
const YEAR_SECONDS = 31_536_000;

/** Paths that belong to programs: what is unknown below them is an error in JSON, whatever a client accepts. */
const FOR_PROGRAMS = /^\/(api|assets|mcp|\.well-known)(\/|$)/;

interface Asset {
  type: string;
  bytes: Buffer;
  gzipped: Buffer;
}

/** The built console, read once: half a megabyte that no request waits for a disk for. */
export class ConsoleFiles {
  private readonly page: string;
  private readonly assets: ReadonlyMap<string, Asset>;

  /** @throws Error where `npm run build` has not made the console. */
  constructor() {
    const require = createRequire(import.meta.url);
    const dist = join(dirname(require.resolve('@market/console/package.json')), 'dist');
    this.page = readFileSync(join(dist, 'index.html'), 'utf8');
    this.assets = new Map(
      readdirSync(join(dist, 'assets')).map((name) => {
        const bytes = readFileSync(join(dist, 'assets', name));
        return [name, { type: TYPES[extname(name)]!, bytes, gzipped: gzipSync(bytes, { level: 9 }) }];
      }),
    );
  }

  pageFor(request: FastifyRequest, reply: FastifyReply): Buffer | undefined {
    setSecurityHeaders(reply);
    return sendCacheableText(request, reply, this.page, PAGE_TYPE);
  }

  /** The page says itself that there is nothing at its address. */
  sendNotFound(reply: FastifyReply): void {
    setSecurityHeaders(reply);
    void reply.status(404).type(PAGE_TYPE).send(this.page);
  }

  /** The name of an asset holds the hash of its content, so it never changes. @returns undefined for an unknown name. */
  assetFor(name: string, request: FastifyRequest, reply: FastifyReply): Buffer | undefined {
    const asset = this.assets.get(name);
    if (!asset) return undefined;
    reply
      .header('cache-control', `public, max-age=${YEAR_SECONDS}, immutable`)
      .header('vary', 'Accept-Encoding')
      .type(asset.type);
    if (!takesGzip(request)) return asset.bytes;
    reply.header('content-encoding', 'gzip');
    return asset.gzipped;
  }

  /** Whether who asks for an unknown path is a person, who reads a page better than JSON. */
  static isForPerson({ method, headers }: FastifyRequest, path: string): boolean {
    return (
      (method === 'GET' || method === 'HEAD') &&
      (headers.accept ?? '').includes('text/html') &&
      !FOR_PROGRAMS.test(path)
    );
  }
}
