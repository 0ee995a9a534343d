import {
  deliverJob,
  executeCall,
  executeKeylessCall,
  openDelivery,
  readStream,
  streamGrew,
  type OpenStream,
} from '@market/contracts/gateway';
import { apiKeyOf, authenticate, createChallenge, getProfile } from '@market/contracts/identity';
import { newId } from '@market/kernel';
import { describeNeeding, eventually, startRedisServer } from '@market/testing';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { LISTING_ID, RELAY_REQUEST_ID, WALLET } from '../../src/openapi/example-values.js';
import { gatewayResultExample } from '../../src/gateway/gateway.examples.js';
import { answerEverything } from '../support/answers.js';
import { EdgeHarness } from '../support/edge-harness.js';
import { expectRefused, send, sendRaw, type Answer } from '../support/http.js';

/** The limits are small enough to reach, and recover too slowly to recover within a test. */
const LOW_LIMITS =
  'reads=3/600,writes=2/600,calls=30/600:3,calls-in-flight=2,catalog=3/600,challenges=2/600,registrations=2/7200,' +
  'refusals=3/600,health=5/600';

const DELIVERED = {
  outcome: 'answered' as const,
  dataJson: JSON.stringify(gatewayResultExample),
  idempotencyReplayed: false,
};

describe('rate limits', () => {
  let harness: EdgeHarness;

  const start = async (environment: Record<string, string> = {}): Promise<void> => {
    harness = await EdgeHarness.start({ RATE_LIMITS: LOW_LIMITS, ...environment });
    answerEverything(harness.bus);
  };
  afterEach(() => harness.stop());

  const times = async (count: number, ask: () => Promise<Answer>): Promise<number[]> => {
    const statuses: number[] = [];
    for (let n = 0; n < count; n += 1) statuses.push((await ask()).status);
    return statuses;
  };

  it('count what an account reads, whichever of its keys it uses, and tell how much is left', async () => {
    await start();
    const { key, principal } = harness.agent();
    const other = harness.agent();
    const second = harness.keyFor(principal);
    const first = await send(harness, 'GET', '/me', { key });
    expect(first.headers).toMatchObject({ 'ratelimit-policy': '"reads";q=3;w=600', ratelimit: '"reads";r=2;t=200' });
    expect(first.headers['retry-after']).toBeUndefined();
    expect((await send(harness, 'GET', '/ledger', { key: second })).headers.ratelimit).toMatch(/^"reads";r=1;t=\d+$/);
    expect((await send(harness, 'HEAD', '/receipts', { key })).status).toBe(200);
    const refused = await send(harness, 'GET', '/me', { key: second });
    expectRefused(refused, 429, 'RATE_LIMITED', 'rate_limited');
    expect(refused.headers).toMatchObject({
      'ratelimit-policy': '"reads";q=3;w=600',
      ratelimit: expect.stringMatching(/^"reads";r=0;t=\d+$/),
      'retry-after': expect.stringMatching(/^\d+$/),
    });
    expect(refused.json.error).toMatchObject({
      details: { reason: 'rate_limited', rate: 'reads', retry_after_seconds: Number(refused.headers['retry-after']) },
      recovery: { next_action: 'retry_after_delay' },
    });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(190);
    expect(harness.bus.asked(getProfile)).toHaveLength(1);
    expect((await send(harness, 'GET', '/me', { key: other.key })).status).toBe(200);
  });

  it('count what an owner asks for its own, also for agents that it has not claimed, and nothing of it for the agent', async () => {
    await start();
    const { token, agent } = harness.owner();
    const ask = (agentId: string) => send(harness, 'GET', `/ledger?agent_id=${agentId}`, { key: token });
    expect((await ask(agent.accountId)).headers.ratelimit).toMatch(/^"reads";r=2;/);
    expect((await ask(harness.owner().agent.accountId)).status).toBe(404);
    expect((await send(harness, 'GET', '/me', { key: token })).status).toBe(200);
    expectRefused(await ask(agent.accountId), 429, 'RATE_LIMITED', 'rate_limited');
    expect((await send(harness, 'GET', '/me', { key: harness.keyFor(agent) })).headers.ratelimit).toMatch(/;r=2;/);
  });

  it('count reads, writes and calls apart', async () => {
    await start();
    const { key } = harness.agent();
    expect(
      await times(3, () => send(harness, 'POST', '/api-keys', { key, body: { name: 'n', scopes: ['read'] } })),
    ).toEqual([201, 201, 429]);
    expect(await times(4, () => send(harness, 'GET', '/me', { key }))).toEqual([200, 200, 200, 429]);
    expect(await times(4, () => send(harness, 'POST', `/gateway/${LISTING_ID}`, { key, body: {} }))).toEqual([
      200, 200, 200, 429,
    ]);
  });

  it('count only the deliveries of jobs that are refused, by their address', async () => {
    await start({ RATE_LIMITS: `${LOW_LIMITS},deliveries=2/600` });
    harness.bus.answers(openDelivery, () => ({ maxBytes: 100 }));
    harness.bus.answers(deliverJob, () => ({ status: 'failed' as const }));
    const id = newId();
    const deliver = (signed: string) =>
      send(harness, 'POST', `/jobs/${id}/failed`, {
        body: {},
        headers: {
          'webhook-id': `${id}-${signed}-1`,
          'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
          'webhook-signature': 'v1,AAAA',
        },
      });
    // Whether a signature holds is for the gateway service to say, which is not asked if the id is of another delivery.
    expect(await times(4, () => deliver('failed'))).toEqual([200, 200, 200, 200]);
    expect(await times(2, () => deliver('result'))).toEqual([401, 401]);
    await eventually(async () => expect((await deliver('failed')).status).toBe(429));
    expectRefused(await deliver('failed'), 429, 'RATE_LIMITED', 'rate_limited');
  });

  it('tell of a burst beside the rate', async () => {
    await start();
    const { headers } = await send(harness, 'POST', `/gateway/${LISTING_ID}`, { key: harness.agent().key, body: {} });
    expect(headers).toMatchObject({
      'ratelimit-policy': '"calls";q=30;w=600;market-burst=3',
      ratelimit: '"calls";r=2;t=20',
    });
  });

  it('count strangers by their address, each kind of request apart', async () => {
    await start();
    const challenge = () => send(harness, 'POST', '/auth/challenge', { body: { wallet_address: WALLET } });
    const registration = () =>
      send(harness, 'POST', '/register', {
        body: { wallet_address: WALLET, signature: 's', nonce: 'n', pow_nonce: 'p' },
      });
    expect(await times(4, () => send(harness, 'GET', '/listings'))).toEqual([200, 200, 200, 429]);
    expect((await send(harness, 'GET', '/listings/x')).status).toBe(429);
    expect(await times(3, challenge)).toEqual([200, 200, 429]);
    expect(await times(3, registration)).toEqual([201, 201, 429]);
    expect((await registration()).headers).toMatchObject({ 'ratelimit-policy': '"registrations";q=2;w=7200' });
    expect(harness.bus.asked(createChallenge)).toHaveLength(2);
    expect(await times(6, () => send(harness, 'GET', '/health'))).toEqual([200, 200, 200, 200, 200, 429]);
    expect((await send(harness, 'GET', '/health')).headers['ratelimit-policy']).toBe('"health";q=5;w=600');
    expect(new Set(await times(10, () => send(harness, 'POST', '/payment-methods')))).toEqual(new Set([410]));
  });

  it('count a public operation by address also for who has a key, and a key there by its account', async () => {
    await start();
    const { key } = harness.agent();
    expect(await times(4, () => send(harness, 'GET', '/listings/x', { key }))).toEqual([200, 200, 200, 429]);
    expect((await send(harness, 'GET', '/listings/x')).headers.ratelimit).toMatch(/^"catalog";r=2;/);
  });

  it('refuse before a byte of the body is read', async () => {
    await start();
    const { key } = harness.agent();
    await times(2, () => send(harness, 'POST', '/api-keys', { key, body: { name: 'n', scopes: ['read'] } }));
    const answer = await sendRaw(
      harness,
      `POST /api/v1/api-keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n',
    );
    expectRefused(answer, 429, 'RATE_LIMITED', 'rate_limited');
  });

  it('silence an address that keeps sending keys of nobody, but not for a key that was just looked up', async () => {
    await start();
    const good = harness.agent();
    await send(harness, 'GET', '/me', { key: good.key });
    const strange = (letter: string) => send(harness, 'GET', '/me', { key: apiKeyOf(letter.repeat(43)) });
    const statuses = [
      await strange('a'),
      await send(harness, 'GET', '/me'),
      await send(harness, 'GET', '/me', { key: 'nonsense' }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([401, 401, 401]);
    const asked = harness.bus.asked(authenticate).length;
    const refused = await strange('b');
    expectRefused(refused, 429, 'RATE_LIMITED', 'rate_limited');
    expect(refused.json.error!.details).toMatchObject({ rate: 'refusals', retry_after_seconds: 200 });
    expectRefused(await send(harness, 'GET', '/me'), 429, 'RATE_LIMITED', 'rate_limited');
    expect(harness.bus.asked(authenticate)).toHaveLength(asked);
    expect((await send(harness, 'GET', '/me', { key: good.key })).status).toBe(200);
  });

  it('count no paid call that is delivered, and every retry that is not', async () => {
    await start({ RATE_LIMITS: `${LOW_LIMITS},retries=2/400` });
    const { key } = harness.agent();
    const answer = (output: object) => harness.bus.answers(executeCall, () => output as never);
    const retry = (proof: Record<string, string>) =>
      send(harness, 'POST', `/gateway/${LISTING_ID}`, { key, body: {}, headers: proof });
    const relayId = { 'x-market-relay-request-id': `0x${'ab'.repeat(32)}` };
    answer({ outcome: 'answered', dataJson: JSON.stringify(gatewayResultExample), idempotencyReplayed: false });
    expect(new Set(await times(20, () => retry(relayId)))).toEqual(new Set([200]));
    answer({
      outcome: 'pending',
      relayRequestId: relayId['x-market-relay-request-id'],
      retryAfterSeconds: 1,
      reason: 'payment_not_final',
    });
    expect(await times(3, () => retry(relayId))).toEqual([202, 202, 429]);
    const refused = await retry(relayId);
    expectRefused(refused, 429, 'RATE_LIMITED', 'rate_limited');
    expect(refused.json.error!.details).toMatchObject({ rate: 'retries', retry_after_seconds: 200 });
    expect((await send(harness, 'POST', `/gateway/${LISTING_ID}`, { key, body: {} })).status).toBe(202);
  });

  describe('on calls under way', () => {
    it('hold for one account, and end with each call', async () => {
      await start({ RATE_LIMITS: `${LOW_LIMITS},calls=1000/1` });
      const { key } = harness.agent();
      const answers: (() => void)[] = [];
      harness.bus.answers(executeCall, () => new Promise((resolve) => answers.push(() => resolve(DELIVERED))));
      const call = (by: string) => send(harness, 'POST', `/gateway/${LISTING_ID}`, { key: by, body: {} });
      const inFlight = [call(key), call(key)];
      await eventually(async () => expect(answers).toHaveLength(2));
      const refused = await call(key);
      expectRefused(refused, 429, 'RATE_LIMITED', 'too_many_in_flight');
      expect([refused.headers['retry-after'], refused.json.error!.details]).toEqual([
        '1',
        { reason: 'too_many_in_flight', limit: 2, retry_after_seconds: 1 },
      ]);
      const another = call(harness.agent().key);
      await eventually(async () => expect(answers).toHaveLength(3));
      for (const answer of answers.splice(0)) answer();
      expect((await Promise.all([...inFlight, another])).map(({ status }) => status)).toEqual([200, 200, 200]);
      const again = [call(key), call(key)];
      await eventually(async () => expect(answers).toHaveLength(2));
      for (const answer of answers) answer();
      expect((await Promise.all(again)).map(({ status }) => status)).toEqual([200, 200]);
    });

    describeNeeding('redis-server')('of one account', () => {
      it('hold over two edges together, and for each by itself while Redis is away', async () => {
        const redis = await startRedisServer();
        const env = { RATE_LIMITS: `${LOW_LIMITS},calls=1000/1`, REDIS_URL: redis.url };
        await start(env);
        const second = await EdgeHarness.start(env);
        try {
          const { principal } = harness.agent();
          const held: (() => void)[] = [];
          for (const { bus } of [harness, second])
            bus.answers(executeCall, () => new Promise((resolve) => held.push(() => resolve(DELIVERED))));
          /** Sends eight calls to both edges and returns how many reach the gateway concurrently. */
          const admitted = async (): Promise<number> => {
            let answered = 0;
            const calls = Array.from({ length: 8 }, (_, n) => [harness, second][n % 2]!).map((edge) =>
              send(edge, 'POST', `/gateway/${LISTING_ID}`, { key: edge.keyFor(principal), body: {} }).finally(
                () => (answered += 1),
              ),
            );
            await eventually(() => expect(held.length + answered).toBe(8));
            const count = held.length;
            held.splice(0).forEach((answer) => answer());
            await Promise.all(calls);
            return count;
          };
          // Waits until both edges use Redis, and so count together. An edge that gets no answer from Redis in time
          // counts alone.
          await eventually(async () => expect(await admitted()).toBe(2), { withinMs: 12_000 });
          await redis.kill();
          await eventually(async () => expect(await admitted()).toBe(4), { withinMs: 12_000 });
        } finally {
          await second.stop();
          await redis.stop();
        }
      });

      it('ask Redis once for a paid call, and once more than that for a quote', async () => {
        const redis = await startRedisServer();
        const tell = (command: string): Promise<string> => {
          const socket = connect(Number(new URL(redis.url).port), '127.0.0.1');
          socket.write(`${command}\r\nQUIT\r\n`);
          return text(socket);
        };
        await start({ RATE_LIMITS: `${LOW_LIMITS},calls=1000/1`, REDIS_URL: redis.url });
        try {
          const { key } = harness.agent();
          harness.bus.answers(executeCall, () => DELIVERED);
          const call = async (headers: Record<string, string>): Promise<void> => {
            const { status } = await send(harness, 'POST', `/gateway/${LISTING_ID}`, { key, body: {}, headers });
            expect(status).toBe(200);
          };
          const asked = async (): Promise<string[]> =>
            [...(await tell('INFO commandstats')).matchAll(/cmdstat_(evalsha|zrem):calls=(\d+)/g)]
              .map(([, command, count]) => `${command} ${count}`)
              .toSorted();
          await eventually(async () => {
            await call({});
            expect(await asked()).toHaveLength(2);
          });
          for (const [headers, questions] of [
            [{ 'x-market-relay-request-id': RELAY_REQUEST_ID }, 1],
            [{}, 2],
          ] as [Record<string, string>, number][]) {
            await tell('CONFIG RESETSTAT');
            await call(headers);
            await eventually(async () => expect(await asked()).toEqual([`evalsha ${questions}`, 'zrem 1']));
          }
        } finally {
          await redis.stop();
        }
      });
    });

    it('hold for one wallet that signs without a key, and for one address', async () => {
      await start({ RATE_LIMITS: `${LOW_LIMITS},calls=1000/1`, API_GATEWAY_TRUSTED_PROXIES: '127.0.0.1' });
      const held: (() => void)[] = [];
      harness.bus.answers(executeKeylessCall, () => new Promise((resolve) => held.push(() => resolve(DELIVERED))));
      const call = (from: string, address: string) => {
        const payload = {
          x402Version: 2,
          accepted: { extra: { relayRequestId: RELAY_REQUEST_ID } },
          payload: { authorization: { from } },
        };
        return send(harness, 'POST', `/x402/${LISTING_ID}`, {
          body: {},
          headers: {
            'payment-signature': Buffer.from(JSON.stringify(payload)).toString('base64'),
            'x-forwarded-for': address,
          },
        });
      };
      const inFlight = [call('0xAA', '203.0.113.1'), call('0xaa', '203.0.113.2'), call('0xbb', '203.0.113.1')];
      await eventually(() => expect(held).toHaveLength(3));
      expectRefused(await call('0xaa', '203.0.113.3'), 429, 'RATE_LIMITED', 'too_many_in_flight');
      expectRefused(await call('0xcc', '203.0.113.1'), 429, 'RATE_LIMITED', 'too_many_in_flight');
      held.forEach((answer) => answer());
      expect((await Promise.all(inFlight)).map(({ status }) => status)).toEqual([200, 200, 200]);
    });

    it('last until the seller ends a stream, also if its buyer hangs up', async () => {
      await start({ RATE_LIMITS: `${LOW_LIMITS},calls=1000/1` });
      const { key } = harness.agent();
      const over = new Set<string>();
      const streams: OpenStream[] = [];
      harness.bus.answers(executeCall, async () => {
        const stream = { callId: newId(), contentId: newId(), attempt: 1, text: 'data: one\n\n' };
        streams.push(stream);
        return { outcome: 'streaming' as const, stream };
      });
      harness.bus.answers(readStream, async ({ contentId }) => ({
        text: '',
        state: over.has(contentId) ? ('ended' as const) : ('open' as const),
        dataJson: '{}',
      }));
      const call = async (by = key): Promise<number> => {
        const hangUp = new AbortController();
        const { status } = await fetch(`${harness.origin}/api/v1/gateway/${LISTING_ID}`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${by}`,
            accept: 'text/event-stream',
            'content-type': 'application/json',
          },
          body: '{}',
          signal: hangUp.signal,
        });
        hangUp.abort();
        return status;
      };
      expect([await call(), await call()]).toEqual([200, 200]);
      // What came before it has been seen by then.
      expect(await call(harness.agent().key)).toBe(200);
      expect(await call()).toBe(429);
      const { contentId } = streams[0]!;
      over.add(contentId);
      harness.signal(streamGrew, { contentId, offset: 10, text: '', isOver: true });
      await eventually(async () => expect(await call()).toBe(200));
      expect(await call()).toBe(429);
    });

    it('end also for requests that were refused, malformed, or cut off', async () => {
      await start({ RATE_LIMITS: `${LOW_LIMITS},calls=1000/1` });
      const { key } = harness.agent();
      for (let n = 0; n < 5; n += 1) {
        expect(
          (
            await send(harness, 'POST', `/gateway/${LISTING_ID}`, {
              key,
              body: '{}',
              headers: { 'content-encoding': 'gzip' },
            })
          ).status,
        ).toBe(415);
        expect(
          (
            await send(harness, 'POST', `/gateway/${LISTING_ID}`, {
              key,
              body: {},
              headers: { 'x-market-relay-request-id': 'odd' },
            })
          ).status,
        ).toBe(400);
        const socket = connect(harness.port, '127.0.0.1');
        await once(socket, 'connect');
        socket.write(
          `POST /api/v1/gateway/${LISTING_ID} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
            'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"a":',
        );
        socket.destroy();
        await once(socket, 'close');
      }
      await eventually(async () =>
        expect((await send(harness, 'POST', `/gateway/${LISTING_ID}`, { key, body: {} })).status).toBe(200),
      );
    });
  });

  describe('behind proxies', () => {
    const from = (forwarded: string) =>
      send(harness, 'GET', '/categories', { headers: { 'x-forwarded-for': forwarded } });

    it('ignore X-Forwarded-For from anyone, unless told otherwise', async () => {
      await start();
      const statuses: number[] = [];
      for (let n = 0; n < 4; n += 1) statuses.push((await from(`198.51.100.${n}`)).status);
      expect(statuses).toEqual([200, 200, 200, 429]);
    });

    it('believe the proxies they are told of, and of an IPv6 address count its /64', async () => {
      await start({ API_GATEWAY_TRUSTED_PROXIES: '127.0.0.0/8, 10.0.0.0/8' });
      const statuses: number[] = [];
      for (let n = 0; n < 4; n += 1) statuses.push((await from(`2001:db8:0:1::${n}`)).status);
      expect(statuses).toEqual([200, 200, 200, 429]);
      expect((await from('2001:db8:0:2::1')).status).toBe(200);
      // Addresses to the left of the last untrusted address are made up by the client and must be ignored.
      for (let n = 0; n < 3; n += 1) expect((await from(`198.51.100.${n}, 203.0.113.9, 10.1.2.3`)).status).toBe(200);
      expect((await from('198.51.100.77, 203.0.113.9, 10.1.2.3')).status).toBe(429);
    });
  });

  describe('on connections', () => {
    const MAX = 4;
    /** Opens a connection from this address, and returns whether the edge closed it before an answer. */
    const dial = async (localAddress: string): Promise<{ socket: Socket; refused: boolean }> => {
      const socket = connect({ port: harness.port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
      socket.write('GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n');
      const refused = await new Promise<boolean>((resolve) =>
        socket.once('close', () => resolve(true)).once('data', () => resolve(false)),
      );
      return { socket, refused };
    };
    const refusedOf = (dialled: { refused: boolean }[]): number => dialled.filter(({ refused }) => refused).length;

    it('hold for one address, which gets one more for each that it closes, and for no other', async () => {
      await start({ RATE_LIMITS: 'off', API_GATEWAY_CONNECTIONS_PER_ADDRESS: `${MAX}` });
      for (const address of ['127.0.0.1', '127.0.0.2']) {
        const dialled = await Promise.all(Array.from({ length: 10 * MAX }, () => dial(address)));
        expect(refusedOf(dialled)).toBe(9 * MAX);
        const [one] = dialled.filter(({ refused }) => !refused);
        one!.socket.destroy();
        await eventually(async () => expect((await dial(address)).refused).toBe(false));
        expect((await dial(address)).refused).toBe(true);
      }
      expect((await dial('127.0.0.3')).refused).toBe(false);
    });

    it('do not hold for trusted proxies', async () => {
      await start({
        RATE_LIMITS: 'off',
        API_GATEWAY_CONNECTIONS_PER_ADDRESS: `${MAX}`,
        API_GATEWAY_TRUSTED_PROXIES: '127.0.0.2/31, ::1',
      });
      const dialled = (address: string) => Promise.all(Array.from({ length: 3 * MAX }, () => dial(address)));
      expect([refusedOf(await dialled('127.0.0.3')), refusedOf(await dialled('127.0.0.1'))]).toEqual([0, 2 * MAX]);
    });
  });

  it.each([
    [{ RATE_LIMITS: 'reads=fast' }, 'RATE_LIMITS'],
    [{ RATE_LIMITS: 'off', PAYMENTS_MODE: 'live' }, 'RATE_LIMITS'],
    [{ API_GATEWAY_CONNECTIONS_PER_ADDRESS: '0' }, 'API_GATEWAY_CONNECTIONS_PER_ADDRESS'],
    [{ API_GATEWAY_TRUSTED_PROXIES: '10.0.0.0/99' }, 'API_GATEWAY_TRUSTED_PROXIES'],
    [{ REDIS_URL: 'http://redis' }, 'REDIS_URL'],
  ])('do not start with %p', async (environment, name) => {
    await start();
    await expect(EdgeHarness.start(environment as Record<string, string>)).rejects.toThrow(name);
  });

  it('count nothing when they are off', async () => {
    await start({ RATE_LIMITS: 'off' });
    const { key } = harness.agent();
    expect(new Set(await times(50, () => send(harness, 'GET', '/me', { key })))).toEqual(new Set([200]));
    expect((await send(harness, 'GET', '/listings')).headers.ratelimit).toBeUndefined();
  });
});
