import type { Scope } from '@market/contracts';
import { apiKeyOf, apiKeyRevoked, authenticate } from '@market/contracts/identity';
import { BUYER_ID, RELAY_REQUEST_ID } from '../../src/openapi/example-values.js';
import { KEY_MEMORY_MS } from '../../src/http/authenticator.js';
import { eventually } from '@market/testing';
import { answerEverything } from '../support/answers.js';
import { EdgeWorld } from '../support/edge-world.js';
import { expectRefused, send, sendRaw } from '../support/http.js';

/** Every operation and who may use it, as design §7 says; written out, so that a changed rule shows here. */
const ACCESS: Record<string, 'public' | 'optional' | 'any' | Scope> = {
  'GET /health': 'public',
  'POST /auth/challenge': 'public',
  'POST /register': 'public',
  'GET /me': 'any',
  'GET /api-keys': 'read',
  'POST /api-keys': 'write',
  'DELETE /api-keys/{keyId}': 'write',
  'GET /categories': 'public',
  'GET /listings': 'public',
  'POST /listings': 'write',
  'GET /listings/{listingId}': 'optional',
  'PATCH /listings/{listingId}': 'write',
  'DELETE /listings/{listingId}': 'write',
  'POST /listings/challenge': 'write',
  'GET /listings/{listingId}/endpoint': 'read',
  'PUT /listings/{listingId}/endpoint': 'write',
  'POST /listings/{listingId}/endpoint/test': 'write',
  'POST /listings/{listingId}/endpoint/rotate-secret': 'write',
  'POST /gateway/{listingId}': 'subscribe',
  'GET /gateway-requests': 'read',
  'GET /gateway-requests/{requestId}': 'read',
  'GET /ledger': 'read',
  'GET /receipts': 'read',
  'GET /receipts/{receiptId}': 'read',
  'POST /sandbox/payments/{relayRequestId}/pay': 'subscribe',
  'GET /recovery-actions': 'public',
  'GET /openapi.json': 'public',
};

const OPERATIONS = Object.entries(ACCESS).map(([operation, access]) => {
  const [method, template] = operation.split(' ') as [string, string];
  return { operation, method, access, path: template.replace('{relayRequestId}', RELAY_REQUEST_ID).replace(/\{\w+\}/, BUYER_ID) };
});
const SCOPES: Scope[] = ['read', 'write', 'subscribe'];
const isScope = (access: string): access is Scope => (SCOPES as string[]).includes(access);

describe('who may use what', () => {
  let world: EdgeWorld;

  beforeAll(async () => {
    world = await EdgeWorld.start();
    answerEverything(world.bus);
  });
  afterAll(() => world.stop());

  it('is stated for every operation that is served', async () => {
    const { json } = await send(world, 'GET', '/openapi.json');
    const paths = (json as unknown as { paths: Record<string, object> }).paths;
    const served = Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace('/api/v1', '')}`));
    expect(served.sort()).toEqual(Object.keys(ACCESS).sort());
  });

  describe.each(OPERATIONS)('$operation', ({ method, path, access }) => {
    const ask = (key?: string) => send(world, method, path, { key });

    it(access === 'public' || access === 'optional' ? 'answers strangers' : 'answers strangers 401, before it looks at anything else', async () => {
      const answer = await ask();
      if (access === 'public' || access === 'optional') expect(answer.status).not.toBe(401);
      else {
        expectRefused(answer, 401, 'UNAUTHORIZED');
        const withBadBody = await send(world, method, path, { headers: { 'content-type': 'text/plain', 'content-length': '3' }, body: '{"x' });
        expectRefused(withBadBody, 401, 'UNAUTHORIZED');
      }
    });

    it(access === 'public' ? 'does not look at keys' : 'answers 401 to a key that is not good', async () => {
      const answer = await ask(apiKeyOf('z'.repeat(43)));
      if (access === 'public') expect(answer.status).not.toBe(401);
      else {
        expectRefused(answer, 401, 'UNAUTHORIZED');
        expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', vary: 'Authorization', 'www-authenticate': expect.stringContaining('Bearer') });
      }
    });

    it('asks for exactly the scope it needs', async () => {
      for (const scope of SCOPES) {
        const answer = await ask(world.agent([scope]).key);
        expect(answer.status).toBeLessThan(500);
        if (isScope(access) && scope !== access) {
          expectRefused(answer, 403, 'FORBIDDEN', 'scope_missing');
          expect(answer.json.error).toMatchObject({ details: { required_scope: access }, recovery: { next_action: 'create_key_with_scope' } });
        } else expect([401, 403]).not.toContain(answer.status);
      }
    });
  });

  it('is refused in the same words, however the key is not good', async () => {
    const { key } = world.agent();
    const unknown = apiKeyOf('u'.repeat(43));
    const attempts = [
      send(world, 'GET', '/me'),
      send(world, 'GET', `/me?api_key=${key}`),
      send(world, 'GET', `/me?access_token=${key}`),
      send(world, 'GET', '/me', { key: unknown }),
      ...['', key, `Basic ${key}`, `Bearer ${key}x`, `Bearer  ${key}`, `bearer: ${key}`, `Bearer ${key.slice(0, 12)}`, `Token ${key}`, `Bearer ${key}, Bearer ${key}`].map((authorization) => send(world, 'GET', '/me', { headers: { authorization } })),
      ...['x-api-key', 'api-key', 'cookie', 'proxy-authorization', 'x-authorization'].map((name) => send(world, 'GET', '/me', { headers: { [name]: `Bearer ${key}` } })),
      sendRaw(world, `GET /api/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nAuthorization: Bearer ${key}\r\n\r\n`),
      sendRaw(world, `GET /api/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nauthorization: Basic x\r\n\r\n`),
    ];
    const answers = await Promise.all(attempts);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 401));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]!.json.error!.recovery).toMatchObject({ next_action: 'authenticate' });
  });

  it('takes the scheme in any case', async () => {
    const { key } = world.agent();
    for (const scheme of ['bearer', 'BEARER', 'BeArEr']) expect((await send(world, 'GET', '/me', { headers: { authorization: `${scheme} ${key}` } })).status).toBe(200);
  });

  it('ends for a revoked key at once where the signal arrives, and within a second where it does not', async () => {
    const [told, untold] = [world.agent(), world.agent()];
    for (const { key } of [told, untold]) expect((await send(world, 'GET', '/me', { key })).status).toBe(200);
    world.revokeSilently(told.keyHash);
    world.signal(apiKeyRevoked, { keyHash: told.keyHash });
    expect((await send(world, 'GET', '/me', { key: told.key })).status).toBe(401);

    world.revokeSilently(untold.keyHash);
    const revokedAt = performance.now();
    await eventually(async () => expect((await send(world, 'GET', '/me', { key: untold.key })).status).toBe(401), { withinMs: 3_000, everyMs: 10 });
    expect(performance.now() - revokedAt).toBeLessThan(KEY_MEMORY_MS + 500);
  });

  it('asks identity once a second for a key, however many requests carry it', async () => {
    const { key, keyHash } = world.agent();
    await Promise.all(Array.from({ length: 40 }, () => send(world, 'GET', '/me', { key })));
    expect(world.bus.asked(authenticate).filter((asked) => asked.keyHash === keyHash).length).toBeLessThanOrEqual(2);
  });

  it('answers 429 and no 401 while identity is out of reach', async () => {
    const impatient = await EdgeWorld.start({ API_GATEWAY_REQUEST_BUDGET_MS: '100' });
    impatient.bus.answers(authenticate, () => new Promise(() => undefined));
    const answer = await send(impatient, 'GET', '/me', { key: impatient.agent().key });
    expectRefused(answer, 429, 'RATE_LIMITED', 'deadline_exceeded');
    expect(answer.headers['retry-after']).toBe('1');
    await impatient.stop();
  });
});
