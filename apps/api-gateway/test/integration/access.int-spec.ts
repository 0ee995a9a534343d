import type { Scope } from '@market/contracts';
import {
  apiKeyOf,
  apiKeyRevoked,
  authenticate,
  getOwnedAgent,
  getProfile,
  sessionEnded,
  sessionTokenOf,
} from '@market/contracts/identity';
import { getListing } from '@market/contracts/catalog';
import { listLedger } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import type { RequestContext } from '@market/messaging';
import { profileExample } from '../../src/identity/identity.examples.js';
import { listingDetailExample } from '../../src/listings/listings.examples.js';
import { BUYER_ID, RELAY_REQUEST_ID } from '../../src/openapi/example-values.js';
import { eventually } from '@market/testing';
import { answerEverything } from '../support/answers.js';
import { EdgeHarness } from '../support/edge-harness.js';
import { expectRefused, send, sendRaw } from '../support/http.js';

/** Every operation and who may use it, as in design §7. The list is explicit, so that a changed rule fails the test. */
const ACCESS: Record<string, 'public' | 'optional' | 'any' | 'human' | Scope> = {
  'GET /health': 'public',
  'POST /auth/challenge': 'public',
  'POST /register': 'public',
  'POST /auth/session': 'public',
  'GET /auth/oidc': 'public',
  'POST /auth/oidc': 'public',
  'POST /auth/oidc/session': 'public',
  'DELETE /auth/session': 'human',
  'POST /auth/recover': 'public',
  'GET /me/wallets': 'read',
  'POST /me/wallets': 'write',
  'GET /me/wallets/{id}': 'read',
  'PATCH /me/wallets/{id}': 'write',
  'POST /agents/{agentId}/claim': 'human',
  'POST /agents/{agentId}/claim-code': 'human',
  'POST /me/claim': 'write',
  'GET /me': 'any',
  'GET /api-keys': 'read',
  'POST /api-keys': 'write',
  'GET /api-keys/{keyId}': 'read',
  'PATCH /api-keys/{keyId}': 'write',
  'DELETE /api-keys/{keyId}': 'write',
  'GET /me/budget': 'read',
  'PATCH /me/budget': 'write',
  'GET /categories': 'public',
  'GET /listings': 'public',
  'POST /listings': 'write',
  'GET /listings/{listingId}': 'optional',
  'GET /listings/{listingId}/quality': 'optional',
  'PATCH /listings/{listingId}': 'write',
  'DELETE /listings/{listingId}': 'write',
  'POST /listings/challenge': 'write',
  'POST /listings/validate': 'write',
  'GET /listings/{listingId}/endpoint': 'read',
  'PUT /listings/{listingId}/endpoint': 'write',
  'POST /listings/{listingId}/endpoint/test': 'write',
  'POST /listings/{listingId}/endpoint/rotate-secret': 'write',
  'POST /gateway/{listingId}': 'subscribe',
  'POST /x402/{listingId}': 'public',
  'GET /x402/{listingId}': 'public',
  'GET /events': 'read',
  'GET /webhooks': 'read',
  'POST /webhooks': 'write',
  'GET /webhooks/{webhookId}': 'read',
  'PATCH /webhooks/{webhookId}': 'write',
  'DELETE /webhooks/{webhookId}': 'write',
  'POST /webhooks/{webhookId}/rotate-secret': 'write',
  'POST /webhooks/{webhookId}/test': 'write',
  'GET /webhooks/{webhookId}/deliveries': 'read',
  'POST /webhook-deliveries/{deliveryId}/replay': 'write',
  'GET /gateway-requests': 'read',
  'GET /gateway-requests/{requestId}': 'read',
  'GET /gateway-requests/{requestId}/content': 'read',
  'DELETE /gateway-requests/{requestId}': 'subscribe',
  'POST /jobs/{requestId}/result': 'public',
  'POST /jobs/{requestId}/progress': 'public',
  'POST /jobs/{requestId}/failed': 'public',
  'GET /ledger': 'read',
  'GET /me/balance': 'read',
  'GET /statements/{month}': 'read',
  'GET /refunds': 'read',
  'POST /refunds/{refundId}/confirm': 'write',
  'POST /fees/payments': 'write',
  'GET /receipts': 'read',
  'GET /receipts/{receiptId}': 'read',
  'GET /receipts/{receiptId}/proof': 'read',
  'POST /subscribe': 'subscribe',
  'GET /subscriptions': 'read',
  'GET /subscriptions/{subscriptionId}': 'read',
  'DELETE /subscriptions/{subscriptionId}': 'subscribe',
  'POST /payments': 'subscribe',
  'POST /payments/verify': 'subscribe',
  'GET /payments/{paymentId}': 'read',
  'GET /reviews/{listingId}': 'public',
  'POST /reviews/{listingId}': 'write',
  'GET /agents/{agentId}': 'public',
  'GET /agents/{agentId}/score': 'public',
  'POST /sandbox/payments/{relayRequestId}/pay': 'subscribe',
  'POST /webhooks/relay': 'public',
  'GET /recovery-actions': 'public',
  'GET /payment-routes': 'public',
  'GET /discovery/resources': 'public',
  'GET /discovery/search': 'public',
  'GET /openapi.json': 'public',
};

/** The operations that a human may use for an agent that it has claimed. */
const OWNERS = [
  'GET /me',
  'GET /me/wallets',
  'GET /me/wallets/{id}',
  'GET /api-keys',
  'POST /api-keys',
  'GET /api-keys/{keyId}',
  'PATCH /api-keys/{keyId}',
  'DELETE /api-keys/{keyId}',
  'GET /me/balance',
  'GET /statements/{month}',
  'GET /refunds',
  'GET /me/budget',
  'PATCH /me/budget',
  'GET /listings',
  'GET /listings/{listingId}',
  'GET /listings/{listingId}/quality',
  'PATCH /listings/{listingId}',
  'GET /listings/{listingId}/endpoint',
  'PUT /listings/{listingId}/endpoint',
  'POST /listings/{listingId}/endpoint/test',
  'POST /listings/{listingId}/endpoint/rotate-secret',
  'POST /listings/validate',
  'GET /events',
  'GET /webhooks',
  'POST /webhooks',
  'GET /webhooks/{webhookId}',
  'PATCH /webhooks/{webhookId}',
  'DELETE /webhooks/{webhookId}',
  'POST /webhooks/{webhookId}/rotate-secret',
  'POST /webhooks/{webhookId}/test',
  'GET /webhooks/{webhookId}/deliveries',
  'POST /webhook-deliveries/{deliveryId}/replay',
  'GET /gateway-requests',
  'GET /gateway-requests/{requestId}',
  'GET /gateway-requests/{requestId}/content',
  'GET /ledger',
  'GET /receipts',
  'GET /receipts/{receiptId}',
  'GET /receipts/{receiptId}/proof',
  'GET /subscriptions',
  'GET /subscriptions/{subscriptionId}',
  'GET /payments/{paymentId}',
];

/** One operation of each kind for owners; the access matrix of the end-to-end tests tries all. */
const OWNED = [
  'GET /me',
  'GET /ledger',
  'GET /receipts/{receiptId}',
  'GET /listings/{listingId}',
  'POST /api-keys',
  'PATCH /listings/{listingId}',
  'DELETE /webhooks/{webhookId}',
];

const OPERATIONS = Object.entries(ACCESS).map(([operation, access]) => {
  const [method, template] = operation.split(' ') as [string, string];
  return {
    operation,
    method,
    access,
    path: template
      .replace('{relayRequestId}', RELAY_REQUEST_ID)
      .replace('{month}', '2026-01')
      .replace(/\{\w+\}/, BUYER_ID),
  };
});
const COOKIE = '__Host-am_session';
const SIGN_IN = 'https://market.test/api/v1/auth/session';
const SCOPES: Scope[] = ['read', 'write', 'subscribe'];
const isScope = (access: string): access is Scope => (SCOPES as string[]).includes(access);

describe('who may use what', () => {
  let harness: EdgeHarness;

  beforeAll(async () => {
    harness = await EdgeHarness.start();
    answerEverything(harness.bus);
  });
  afterAll(() => harness.stop());

  it('is stated for every operation that is served', async () => {
    const { json } = await send(harness, 'GET', '/openapi.json');
    const paths = (json as unknown as { paths: Record<string, object> }).paths;
    const served = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace('/api/v1', '')}`),
    );
    // The access matrix of the end-to-end tests covers the operations of operators.
    expect(served.filter((operation) => !operation.includes(' /admin/')).sort()).toEqual(Object.keys(ACCESS).sort());
    const forOwners = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods as Record<string, { 'x-access': { owners?: boolean } }>).flatMap(([method, operation]) =>
        operation['x-access'].owners ? [`${method.toUpperCase()} ${path.replace('/api/v1', '')}`] : [],
      ),
    );
    expect(forOwners.sort()).toEqual([...OWNERS].sort());
  });

  describe.each(OPERATIONS)('$operation', ({ method, path, access }) => {
    const ask = (key?: string) => send(harness, method, path, { key });

    it(
      access === 'public' || access === 'optional'
        ? 'answers strangers'
        : 'answers strangers 401, before it looks at anything else',
      async () => {
        const answer = await ask();
        if (access === 'public' || access === 'optional') expect(answer.status).not.toBe(401);
        else {
          expectRefused(answer, 401, 'UNAUTHORIZED');
          const withBadBody = await send(harness, method, path, {
            headers: { 'content-type': 'text/plain', 'content-length': '3' },
            body: '{"x',
          });
          expectRefused(withBadBody, 401, 'UNAUTHORIZED');
        }
      },
    );

    const isOpen = access === 'public' || access === 'optional';

    it(isOpen ? 'ignores a key that is not good' : 'answers 401 to a key that is not good', async () => {
      const answer = await ask(apiKeyOf('z'.repeat(43)));
      if (isOpen) expect(answer.status).toBe((await ask()).status);
      else {
        expectRefused(answer, 401, 'UNAUTHORIZED');
        expect(answer.headers).toMatchObject({
          'cache-control': 'no-store',
          vary: 'Authorization, Cookie',
          'www-authenticate': expect.stringContaining('Bearer'),
        });
      }
    });

    it('asks for exactly the scope it needs', async () => {
      for (const scope of SCOPES) {
        const answer = await ask(harness.agent([scope]).key);
        expect(answer.status).toBeLessThan(500);
        if (access === 'human') {
          expectRefused(answer, 403, 'FORBIDDEN', 'wrong_account_type');
          expect(answer.json.error).toMatchObject({
            details: { account_types: ['human'] },
            recovery: { next_action: 'authenticate', links: { session: SIGN_IN } },
          });
        } else if (isScope(access) && scope !== access) {
          expectRefused(answer, 403, 'FORBIDDEN', 'scope_missing');
          expect(answer.json.error).toMatchObject({
            details: { required_scope: access },
            recovery: { next_action: 'create_key_with_scope' },
          });
        } else expect([401, 403]).not.toContain(answer.status);
      }
    });
  });

  describe.each(OPERATIONS)('$operation', ({ operation, method, path, access }) => {
    it(
      isScope(access) ? 'is for keys of agents, not for sessions of humans' : 'does not turn a human away',
      async () => {
        const answers = [
          await send(harness, method, path, { key: harness.human().token }),
          await send(harness, method, path, {
            headers: { cookie: `${COOKIE}=${harness.human().token}`, 'sec-fetch-site': 'same-origin' },
          }),
        ];
        for (const answer of answers) {
          if (isScope(access)) {
            expectRefused(answer, 403, 'FORBIDDEN', 'wrong_account_type');
            expect(answer.json.error).toMatchObject({
              details: { account_types: ['agent'] },
              recovery: { next_action: OWNERS.includes(operation) ? 'send_agent_id' : 'authenticate' },
            });
          } else expect([401, 403]).not.toContain(answer.status);
        }
      },
    );
  });

  describe.each(OPERATIONS.filter(({ operation }) => OWNED.includes(operation)))('$operation', ({ method, path }) => {
    const body = method === 'GET' || method === 'DELETE' ? undefined : {};
    const asOwner = (token: string, query: string) => send(harness, method, `${path}?${query}`, { key: token, body });

    it('opens to the human that has claimed the agent, as the agent', async () => {
      const { token, agent } = harness.owner();
      for (const id of [agent.accountId, agent.accountId.toUpperCase()]) {
        const answer = await asOwner(token, `agent_id=${id}`);
        expect([401, 403, 404]).not.toContain(answer.status);
        expect(JSON.stringify(answer.json)).not.toContain('agent_id');
      }
    });

    it('says the same to other humans, of agents that exist and of those that do not', async () => {
      const { agent } = harness.owner();
      const { token } = harness.owner();
      const answers = [
        await asOwner(token, `agent_id=${agent.accountId}`),
        await asOwner(token, `agent_id=${newId()}`),
      ];
      for (const answer of answers) {
        expectRefused(answer, 404, 'NOT_FOUND', 'agent_not_found');
        expect(answer.json.error!.recovery).toMatchObject({ next_action: 'send_agent_id' });
      }
      expect(answers[0]!.text).toBe(answers[1]!.text);
    });

    it('takes agent_id beside a key for its own agent alone', async () => {
      const { key, principal } = harness.agent();
      expect([401, 403, 404]).not.toContain((await asOwner(key, `agent_id=${principal.accountId}`)).status);
      for (const id of [newId(), harness.owner().agent.accountId])
        expectRefused(await asOwner(key, `agent_id=${id}`), 403, 'FORBIDDEN', 'agent_id_of_another');
    });

    it('refuses an agent_id that is none, after it knows who asks', async () => {
      const { token, agent } = harness.owner();
      const { key } = harness.agent();
      for (const query of ['agent_id=', 'agent_id=x', `agent_id=${agent.accountId}&agent_id=${agent.accountId}`]) {
        for (const credential of [token, key]) {
          const answer = await asOwner(credential, query);
          expectRefused(answer, 400, 'BAD_REQUEST', 'request_invalid');
          expect(answer.json.error!.details).toMatchObject({ fields: [{ field: 'agent_id' }] });
        }
        expectRefused(await send(harness, method, `${path}?${query}`, { body }), 401, 'UNAUTHORIZED');
      }
    });

    it('takes a cookie from pages of the marketplace, and for reads from anywhere', async () => {
      const { token, agent } = harness.owner();
      const from = (site: string) =>
        send(harness, method, `${path}?agent_id=${agent.accountId}`, {
          headers: { cookie: `${COOKIE}=${token}`, 'sec-fetch-site': site },
          body,
        });
      expect([401, 403, 404]).not.toContain((await from('same-origin')).status);
      const foreign = await from('cross-site');
      if (method === 'GET') expect([401, 403, 404]).not.toContain(foreign.status);
      else {
        expectRefused(foreign, 403, 'FORBIDDEN', 'cross_site_write');
        expect(foreign.json.error!.recovery).toMatchObject({ links: { session: SIGN_IN } });
      }
    });
  });

  describe.each(OPERATIONS.filter(({ operation, access }) => isScope(access) && !OWNERS.includes(operation)))(
    '$operation',
    ({ method, path }) => {
      it('stays closed to the human that has claimed the agent', async () => {
        const { token, agent } = harness.owner();
        const answer = await send(harness, method, `${path}?agent_id=${agent.accountId}`, { key: token });
        expectRefused(answer, 403, 'FORBIDDEN', 'wrong_account_type');
        expect(answer.json.error!.recovery).toMatchObject({
          links: { register: expect.stringMatching(/\/register$/) },
        });
      });
    },
  );

  describe('an owner', () => {
    const seenBy = async (path: string, key: string): Promise<RequestContext['principal']> => {
      let seen: RequestContext['principal'];
      harness.bus.answers(listLedger, (_input, { principal }) => {
        seen = principal;
        return { items: [], total: 0, nextCursor: null };
      });
      expect((await send(harness, 'GET', path, { key })).status).toBe(200);
      return seen;
    };

    it('is to services the agent, named as the one that acts, and cannot spend', async () => {
      const { token, principal: human, agent } = harness.owner();
      expect(await seenBy(`/ledger?agent_id=${agent.accountId}`, token)).toEqual({
        accountId: agent.accountId,
        accountType: 'agent',
        role: agent.role,
        displayName: agent.displayName,
        keyId: human.keyId,
        scopes: ['read', 'write'],
        ownerId: human.accountId,
      });
    });

    it('reads on through links that name the agent', async () => {
      const { token, agent } = harness.owner();
      harness.bus.answers(listLedger, () => ({ items: [], total: 99, nextCursor: null }));
      const { headers } = await send(harness, 'GET', `/ledger?limit=10&agent_id=${agent.accountId}`, { key: token });
      const links = String(headers.link).split(', ');
      expect(links.length).toBeGreaterThan(1);
      for (const link of links) expect(link).toContain(`agent_id=${agent.accountId}`);
    });

    it('is asked for once a second, and is none any more when its session ends', async () => {
      const { token, keyHash, agent } = harness.owner();
      const ask = () => send(harness, 'GET', `/me?agent_id=${agent.accountId}`, { key: token });
      const statuses = await Promise.all(Array.from({ length: 40 }, ask));
      expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set([200]));
      const asked = harness.bus.asked(getOwnedAgent).filter(({ agentId }) => agentId === agent.accountId);
      expect(asked.length).toBeLessThanOrEqual(2);
      harness.revokeSilently(keyHash);
      harness.signal(sessionEnded, { keyHash });
      expectRefused(await ask(), 401, 'UNAUTHORIZED');
    });

    it('sees on public pages what the agent sees, and is nobody there without agent_id', async () => {
      const { token, principal: human, agent } = harness.owner();
      const callers: (string | undefined)[] = [];
      harness.bus.answers(getListing, (_input, { principal }) => {
        callers.push(principal && `${principal.accountId} ${principal.ownerId}`);
        return listingDetailExample;
      });
      for (const query of [`?agent_id=${agent.accountId}`, ''])
        for (const [name, value] of [
          ['authorization', `Bearer ${token}`],
          ['cookie', `${COOKIE}=${token}`],
        ] as const)
          expect(
            (await send(harness, 'GET', `/listings/${BUYER_ID}${query}`, { headers: { [name]: value } })).status,
          ).toBe(200);
      const owner = `${agent.accountId} ${human.accountId}`;
      expect(callers).toEqual([owner, owner, undefined, undefined]);
    });
  });

  describe('a session cookie', () => {
    const me = (cookie: string, headers: Record<string, string> = {}) =>
      send(harness, 'GET', '/me', { headers: { cookie, ...headers } });
    const signOut = (headers: Record<string, string>) =>
      send(harness, 'DELETE', '/auth/session', {
        headers: { ...headers, cookie: `${COOKIE}=${harness.human().token}` },
      });

    it('changes things from pages of the marketplace alone', async () => {
      const own: Record<string, string>[] = [
        { 'sec-fetch-site': 'same-origin', origin: 'https://market.test' },
        { 'sec-fetch-site': 'same-origin' },
        { origin: 'https://market.test' },
      ];
      for (const headers of own) expect((await signOut(headers)).status).toBe(200);
      const foreign: Record<string, string>[] = [
        {},
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { 'sec-fetch-site': 'none' },
        { origin: 'https://evil.test' },
        { origin: 'null' },
        { origin: 'https://market.test.evil.test' },
      ];
      for (const headers of foreign) expectRefused(await signOut(headers), 403, 'FORBIDDEN', 'cross_site_write');
      expect(
        (
          await send(harness, 'DELETE', '/auth/session', {
            key: harness.human().token,
            headers: { 'sec-fetch-site': 'cross-site' },
          })
        ).status,
      ).toBe(200);
      expect((await me(`${COOKIE}=${harness.human().token}`, { 'sec-fetch-site': 'cross-site' })).status).toBe(200);
    });

    it('is no credential when it holds a key, is there twice, or is not whole', async () => {
      const { token } = harness.human();
      const { key } = harness.agent();
      for (const cookie of [
        `${COOKIE}=${key}`,
        `${COOKIE}=${token}; ${COOKIE}=${token}`,
        `${COOKIE}=${token}x`,
        `${COOKIE}=`,
        `${COOKIE}="${token}"`,
        `other=${token}`,
        `api_key=${key}`,
      ])
        expectRefused(await me(cookie), 401, 'UNAUTHORIZED');
    });

    it('is not looked at beside an Authorization header, good or bad', async () => {
      const cookie = `${COOKIE}=${harness.human().token}`;
      const { key, principal } = harness.agent();
      const askedBy: (string | undefined)[] = [];
      harness.bus.answers(getProfile, (_input, context) => {
        askedBy.push(context.principal?.accountId);
        return profileExample;
      });
      expect((await me(cookie, { authorization: `Bearer ${key}` })).status).toBe(200);
      expect(askedBy).toEqual([principal.accountId]);
      expectRefused(await me(cookie, { authorization: `Bearer ${key}x` }), 401, 'UNAUTHORIZED');
    });

    it('does not stand between anyone and a public page, however old it is', async () => {
      const old = `${COOKIE}=${sessionTokenOf('o'.repeat(43))}`;
      for (const path of ['/listings', `/listings/${BUYER_ID}`, '/health'])
        expect((await send(harness, 'GET', path, { headers: { cookie: old } })).status).toBe(200);
    });

    it('opens nothing once the session ended', async () => {
      const { token, keyHash } = harness.human();
      expect((await me(`${COOKIE}=${token}`)).status).toBe(200);
      harness.revokeSilently(keyHash);
      harness.signal(sessionEnded, { keyHash });
      expectRefused(await me(`${COOKIE}=${token}`), 401, 'UNAUTHORIZED');
    });
  });

  it('is refused in the same words, however the key is not good', async () => {
    const { key } = harness.agent();
    const unknown = apiKeyOf('u'.repeat(43));
    const attempts = [
      send(harness, 'GET', '/me'),
      send(harness, 'GET', `/me?api_key=${key}`),
      send(harness, 'GET', `/me?access_token=${key}`),
      send(harness, 'GET', '/me', { key: unknown }),
      ...[
        '',
        key,
        `Basic ${key}`,
        `Bearer ${key}x`,
        `Bearer  ${key}`,
        `bearer: ${key}`,
        `Bearer ${key.slice(0, 12)}`,
        `Token ${key}`,
        `Bearer ${key}, Bearer ${key}`,
      ].map((authorization) => send(harness, 'GET', '/me', { headers: { authorization } })),
      ...['x-api-key', 'api-key', 'cookie', 'proxy-authorization', 'x-authorization'].map((name) =>
        send(harness, 'GET', '/me', { headers: { [name]: `Bearer ${key}` } }),
      ),
      sendRaw(
        harness,
        `GET /api/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nAuthorization: Bearer ${key}\r\n\r\n`,
      ),
      sendRaw(
        harness,
        `GET /api/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nauthorization: Basic x\r\n\r\n`,
      ),
    ];
    const answers = await Promise.all(attempts);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 401));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]!.json.error!.recovery).toMatchObject({ next_action: 'authenticate' });
  });

  it('takes the scheme in any case', async () => {
    const { key } = harness.agent();
    for (const scheme of ['bearer', 'BEARER', 'BeArEr'])
      expect((await send(harness, 'GET', '/me', { headers: { authorization: `${scheme} ${key}` } })).status).toBe(200);
  });

  it('ends for a revoked key at once where the signal arrives, and within a second where it does not', async () => {
    const [told, untold] = [harness.agent(), harness.agent()];
    for (const { key } of [told, untold]) expect((await send(harness, 'GET', '/me', { key })).status).toBe(200);
    harness.revokeSilently(told.keyHash);
    harness.signal(apiKeyRevoked, { keyHash: told.keyHash });
    expect((await send(harness, 'GET', '/me', { key: told.key })).status).toBe(401);

    harness.revokeSilently(untold.keyHash);
    await eventually(async () => expect((await send(harness, 'GET', '/me', { key: untold.key })).status).toBe(401), {
      everyMs: 10,
    });
  });

  it('asks identity once a second for a key, however many requests carry it', async () => {
    const { key, keyHash } = harness.agent();
    await Promise.all(Array.from({ length: 40 }, () => send(harness, 'GET', '/me', { key })));
    expect(harness.bus.asked(authenticate).filter((asked) => asked.keyHash === keyHash).length).toBeLessThanOrEqual(2);
  });

  it('answers 503 and no 401 while identity is out of reach', async () => {
    const shortBudget = await EdgeHarness.start({
      API_GATEWAY_REQUEST_BUDGET_MS: '1100',
      PAYMENTS_LEDGER_X402_RPC_TIMEOUT_MS: '100',
      PAYMENTS_LEDGER_RELAY_TIMEOUT_MS: '100',
    });
    answerEverything(shortBudget.bus);
    const { key, principal } = shortBudget.agent();
    let isAway = true;
    shortBudget.bus.answers(authenticate, () => (isAway ? new Promise<never>(() => undefined) : principal));
    const ask = () => send(shortBudget, 'GET', '/me', { key });
    const answer = await ask();
    expectRefused(answer, 503, 'SERVICE_UNAVAILABLE', 'deadline_exceeded');
    expect(answer.headers['retry-after']).toBe('1');
    isAway = false;
    expect((await ask()).status).toBe(200);
    await shortBudget.stop();
  });
});
