import { apiKeyOf, hashSessionToken, sessionTokenOf } from '@market/contracts/identity';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SessionCookie } from './session-cookie.js';

const token = sessionTokenOf('s'.repeat(43));
const plain = new SessionCookie({ publicUrl: 'http://localhost:3000' });
const secure = new SessionCookie({ publicUrl: 'https://market.example/' });
const request = (headers: Record<string, string>, method = 'POST'): FastifyRequest =>
  ({ method, headers }) as unknown as FastifyRequest;

describe('the session cookie', () => {
  it('is bound to the host where there is TLS', () => {
    expect([plain.name, secure.name]).toEqual(['am_session', '__Host-am_session']);
  });

  it('is kept from scripts, from plain connections and from other sites, and ends with the session', () => {
    const headers = new Map<string, string>();
    const reply = { header: (name: string, value: string) => headers.set(name, value) } as unknown as FastifyReply;
    secure.set(reply, token, new Date('2026-11-21T14:05:12.345Z'));
    expect(headers.get('set-cookie')).toBe(
      `__Host-am_session=${token}; Path=/; Expires=Sat, 21 Nov 2026 14:05:12 GMT; HttpOnly; Secure; SameSite=Lax`,
    );
    secure.clear(reply);
    expect(headers.get('set-cookie')).toBe(
      '__Host-am_session=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; Secure; SameSite=Lax',
    );
  });

  it.each([
    `am_session=${token}`,
    `a=b; am_session=${token}`,
    `am_session=${token};c`,
    `  am_session=${token}  ;am_sessions=x`,
  ])('is found in %p', (cookie) => {
    expect(plain.credentialIn(request({ cookie }))).toEqual({ kind: 'session', hash: hashSessionToken(token) });
  });

  it.each([
    {},
    { cookie: '' },
    { cookie: token },
    { cookie: `session=${token}` },
    { cookie: `AM_SESSION=${token}` },
    { cookie: `x_am_session=${token}` },
    { cookie: `__Host-am_session=${token}` },
  ])('is absent from %p', (headers) => {
    expect(plain.credentialIn(request(headers as Record<string, string>))).toBeUndefined();
  });

  it.each([
    'am_session=',
    'am_session="',
    `am_session="${token}"`,
    `am_session=Bearer ${token}`,
    `am_session=${token}x`,
    `am_session=${encodeURIComponent(` ${token}`)}`,
    `am_session=${apiKeyOf('k'.repeat(43))}`,
    `am_session=${token}; am_session=${token}`,
    `am_session=; am_session=${token}`,
  ])('is no good as %p', (cookie) => {
    expect(plain.credentialIn(request({ cookie }))).toBeNull();
  });

  it.each<[string, Record<string, string>, string, boolean]>([
    ['GET', { 'sec-fetch-site': 'cross-site' }, 'GET', false],
    ['HEAD', {}, 'HEAD', false],
    ['a page of ours', { 'sec-fetch-site': 'same-origin', origin: 'https://market.example' }, 'POST', false],
    ['a page of ours in a browser of yesterday', { origin: 'https://market.example' }, 'DELETE', false],
    ['a neighbour', { 'sec-fetch-site': 'same-site', origin: 'https://blog.market.example' }, 'POST', true],
    ['a neighbour in a browser of yesterday', { origin: 'https://blog.market.example' }, 'POST', true],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, 'POST', true],
    [
      'another site that names our origin',
      { 'sec-fetch-site': 'cross-site', origin: 'https://market.example' },
      'POST',
      true,
    ],
    ['another port', { origin: 'https://market.example:8443' }, 'POST', true],
    ['a sandboxed frame', { origin: 'null' }, 'POST', true],
    ['nowhere', {}, 'POST', true],
    ['an address bar', { 'sec-fetch-site': 'none' }, 'PATCH', true],
  ])('judges a write from %s', (_name, headers, method, foreign) => {
    expect(secure.isForeignWrite(request(headers, method))).toBe(foreign);
  });
});
