import type { FastifyReply, FastifyRequest } from 'fastify';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { sendCacheableText, takesGzip } from '../http/public-cache.js';

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Forbids inline scripts and styles, foreign hosts and frames. `data:` allows the icons that wallets provide. */
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

/** Below these paths an unknown path is answered with an error in JSON, even if the client accepts HTML. */
const FOR_PROGRAMS = /^\/(api|assets|mcp|\.well-known)(\/|$)/;

interface Asset {
  type: string;
  bytes: Buffer;
  gzipped: Buffer;
}

/** The files of the built console, about half a megabyte, which are read into memory at start. */
export class ConsoleFiles {
  private readonly page: string;
  /** The guides of docs/, by name. */
  private readonly guides: ReadonlyMap<string, string>;
  private readonly assets: ReadonlyMap<string, Asset>;

  /** @throws Error if `npm run build` has not built the console. */
  constructor() {
    const require = createRequire(import.meta.url);
    const dist = join(dirname(require.resolve('@market/console/package.json')), 'dist');
    this.page = readFileSync(join(dist, 'index.html'), 'utf8');
    this.guides = new Map(
      readdirSync(join(dist, 'docs')).map((name) => [
        basename(name, '.html'),
        readFileSync(join(dist, 'docs', name), 'utf8'),
      ]),
    );
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

  guideFor(name: string, request: FastifyRequest, reply: FastifyReply): Buffer | undefined {
    setSecurityHeaders(reply);
    return sendCacheableText(request, reply, this.guides.get(name)!, PAGE_TYPE);
  }

  get guideNames(): string[] {
    return [...this.guides.keys()];
  }

  /** Sends the page with status 404; its script shows that the address is unknown. */
  sendNotFound(reply: FastifyReply): void {
    setSecurityHeaders(reply);
    void reply.status(404).type(PAGE_TYPE).send(this.page);
  }

  /**
   * The name of an asset contains the hash of its content, so an asset never changes.
   * @returns undefined for an unknown name.
   */
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

  /** Whether an unknown path should be answered with a page for a browser instead of JSON. */
  static isForPerson({ method, headers }: FastifyRequest, path: string): boolean {
    return (
      (method === 'GET' || method === 'HEAD') &&
      (headers.accept ?? '').includes('text/html') &&
      !FOR_PROGRAMS.test(path)
    );
  }
}
