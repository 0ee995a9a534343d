import { platformConfig, type ConfigOf } from '@market/runtime';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sessionCredential, type Credential } from './bearer-key.js';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * The session cookie of a human. Scripts cannot read it, it is sent only over TLS, and writes are accepted only from
 * pages of this site.
 */
@Injectable()
export class SessionCookie {
  readonly name: string;
  private readonly origin: string;

  constructor(@Inject(platformConfig.token) { publicUrl }: Pick<ConfigOf<typeof platformConfig>, 'publicUrl'>) {
    const { origin, protocol } = new URL(publicUrl);
    this.origin = origin;
    // Browsers accept a __Host- cookie only from this exact host, not from a sibling domain, and only over TLS.
    this.name = protocol === 'https:' ? '__Host-am_session' : 'am_session';
  }

  /** Returns undefined without the cookie; null if its value is not a session token or it is sent twice. */
  credentialIn({ headers }: FastifyRequest): Credential | null | undefined {
    const values = (headers.cookie ?? '').split(';').flatMap((pair) => this.valueIn(pair.trim()));
    if (values.length === 0) return undefined;
    return values.length === 1 ? sessionCredential(values[0]!) : null;
  }

  /**
   * Whether a request with the cookie is a write that was not sent by a page of this site. Current browsers send
   * Sec-Fetch-Site; older ones send at least Origin.
   */
  isForeignWrite({ method, headers }: FastifyRequest): boolean {
    if (SAFE_METHODS.has(method)) return false;
    const site = headers['sec-fetch-site'];
    return site === undefined ? headers.origin !== this.origin : site !== 'same-origin';
  }

  set(reply: FastifyReply, token: string, expiresAt: Date): void {
    reply.header(
      'set-cookie',
      `${this.name}=${token}; Path=/; Expires=${expiresAt.toUTCString()}; HttpOnly; Secure; SameSite=Lax`,
    );
  }

  clear(reply: FastifyReply): void {
    this.set(reply, '', new Date(0));
  }

  private valueIn(pair: string): string[] {
    return pair.startsWith(`${this.name}=`) ? [pair.slice(this.name.length + 1)] : [];
  }
}
