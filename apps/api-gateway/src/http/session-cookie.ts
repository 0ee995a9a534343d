import { platformConfig, type ConfigOf } from '@market/runtime';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sessionCredential, type Credential } from './bearer-key.js';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** A human's session in a browser: out of reach of scripts, sent over TLS alone, and only by pages of this site. */
@Injectable()
export class SessionCookie {
  readonly name: string;
  private readonly origin: string;

  constructor(@Inject(platformConfig.token) { publicUrl }: Pick<ConfigOf<typeof platformConfig>, 'publicUrl'>) {
    const { origin, protocol } = new URL(publicUrl);
    this.origin = origin;
    // A browser takes a __Host- cookie from this host alone, never from a neighbour under the same domain; without TLS it takes none.
    this.name = protocol === 'https:' ? '__Host-am_session' : 'am_session';
  }

  /** Undefined without the cookie; null when it is no session token, or there are two of that name. */
  credentialIn({ headers }: FastifyRequest): Credential | null | undefined {
    const values = (headers.cookie ?? '').split(';').flatMap((pair) => this.valueIn(pair.trim()));
    if (values.length === 0) return undefined;
    return values.length === 1 ? sessionCredential(values[0]!) : null;
  }

  /**
   * Whether a request that a browser gave the cookie of its own accord changes something and cannot be told to come from
   * a page of this site. Browsers of today say where a request comes from; those of yesterday at least name the page's origin.
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
