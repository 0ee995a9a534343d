import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { job, type JobWork } from './seller-job.js';
import { file, reply } from './seller-replies.js';
import { sellerServer, type SellerRequest, type SellerServer } from './seller-server.js';

const secret = `whsec_${randomBytes(32).toString('base64')}`;

describe('sellerServer', () => {
  let server: SellerServer;
  let secrets: string[];
  let errors: unknown[];

  beforeEach(async () => {
    secrets = [secret];
    errors = [];
    server = await sellerServer<{ text: string }>(
      ({ body, call }) => {
        if (body.text === 'break') throw new Error('a bug');
        if (body.text === 'loop') return Object.assign(body, { body });
        return body.text === 'teapot'
          ? reply(418, { short: true })
          : { upper: body.text.toUpperCase(), id: call.requestId };
      },
      { secret: () => secrets, onError: (error) => void errors.push(error) },
    );
  });
  afterEach(() => server.close());

  async function post(text: string, signer = secret): Promise<{ status: number; body: unknown }> {
    const response = await call(server, text, { signer });
    return { status: response.status, body: await response.json() };
  }

  function call(
    to: SellerServer,
    text: string,
    { signer = secret, signal }: { signer?: string; signal?: AbortSignal } = {},
  ): Promise<Response> {
    const rawBody = JSON.stringify({ text });
    const now = new Date();
    return fetch(to.url, {
      method: 'POST',
      signal: signal ?? null,
      body: rawBody,
      headers: {
        'X-Market-Request-Id': 'call-1',
        'X-Market-Timestamp': String(Math.floor(now.getTime() / 1000)),
        'X-Market-Signature': new Webhook(signer).sign('call-1', now, rawBody),
      },
    });
  }

  it('hands a signed call to the handler and answers with what it returns', async () => {
    expect(await post('hé')).toEqual({ status: 200, body: { upper: 'HÉ', id: 'call-1' } });
    expect(await post('teapot')).toEqual({ status: 418, body: { short: true } });
  });

  it('lets nobody else in', async () => {
    const stranger = `whsec_${randomBytes(32).toString('base64')}`;

    expect(await post('x', stranger)).toEqual({ status: 401, body: { error: 'no_matching_signature' } });
    expect((await fetch(server.url)).status).toBe(401);
    secrets = [];
    expect((await post('x')).status).toBe(401);
  });

  it.each([
    ['break', 'a bug'],
    ['loop', 'circular'],
  ])('answers 500 without a word about why when the handler fails (%s), and tells the seller', async (text, why) => {
    expect(await post(text)).toEqual({ status: 500, body: { error: 'internal_error' } });
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining(why) as string })]);
  });

  it('has a secret for each path, and passes a response on as it comes', async () => {
    const other = `whsec_${randomBytes(32).toString('base64')}`;
    const upstream = (body: ReadableStream | string): Response =>
      new Response(body, { status: 418, headers: { 'content-type': 'text/csv', 'content-encoding': 'gzip' } });
    const broken = (): ReadableStream => {
      let pulls = 0;
      return new ReadableStream({
        pull: (to) => (pulls++ ? to.error(new Error('cut')) : to.enqueue(Buffer.from('a'))),
      });
    };
    const shop = await sellerServer<{ text: string }>(
      ({ path, body }) => upstream(body.text === 'break' ? broken() : path),
      { secret: (path) => (path === '/b' ? other : secret), onError: (error) => void errors.push(error) },
    );
    const at = (path: string) => ({ ...shop, url: `${shop.url}${path}` });

    const passed = await call(at('/a?x=1'), '');
    expect([passed.status, passed.headers.get('content-type'), await passed.text()]).toEqual([418, 'text/csv', '/a']);
    expect((await call(at('/b'), '')).status).toBe(401);
    expect((await call(at('/b'), '', { signer: other })).status).toBe(418);
    await expect(call(at('/a'), 'break').then((response) => response.text())).rejects.toThrow();
    expect(errors).toEqual([expect.objectContaining({ message: 'cut' })]);
    await shop.close();
  });

  it('lets calls under way end when it closes, for as long as it is told', async () => {
    const begun = new AbortController();
    let calls = 0;
    const slow = await sellerServer<{ text: string }>(
      ({ body: { text }, signal }) => {
        if ((calls += 1) === 2) begun.abort();
        return text === 'endless'
          ? new Promise((resolve) => signal.addEventListener('abort', resolve))
          : new Promise((resolve) => setTimeout(() => resolve(text), 100));
      },
      { secret },
    );
    const answers = ['soon', 'endless'].map((text) => call(slow, text).then((response) => response.json(), String));
    await once(begun.signal, 'abort');
    await slow.close({ graceMs: 1_000 });
    expect(await Promise.all(answers)).toEqual(['soon', 'TypeError: fetch failed']);
  });

  it('answers with a file of the type that it was given', async () => {
    const files = await sellerServer(() => file(Buffer.from('a,1\n'), 'text/csv'), { secret });
    const response = await call(files, '');
    expect([response.headers.get('content-type'), await response.text()]).toEqual(['text/csv', 'a,1\n']);
    await files.close();
  });

  describe('answers with a stream', () => {
    let streams: SellerServer;
    let made: number;
    let asked: SellerRequest<{ text: string }>;

    beforeEach(async () => {
      made = 0;
      streams = await sellerServer<{ text: string }>(
        async function* (request) {
          asked = request;
          const { text } = request.body;
          if (text === 'break') throw new Error('a bug');
          yield 'one\r\ntwo';
          yield { data: { a: 1 }, event: 'token', id: '7' };
          if (text === 'break later') throw new Error('a bug');
          if (text === 'forge') yield { data: '', event: 'a\ndata: b' };
          if (text === 'number') yield 5;
          for (; text === 'endless'; made += 1) yield 'x'.repeat(65_536);
        },
        { secret, onError: (error) => void errors.push(error) },
      );
    });
    afterEach(() => streams.close());

    it('of what a generator yields', async () => {
      const response = await call(streams, 'well');
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
      expect(await response.text()).toBe('data: one\ndata: two\n\nevent: token\nid: 7\ndata: {"a":1}\n\n');
      expect([errors, asked.signal.aborted]).toEqual([[], false]);
    });

    it('that is 500 where it fails before its first event, and breaks off where it fails later', async () => {
      expect((await call(streams, 'break')).status).toBe(500);
      for (const text of ['break later', 'forge', 'number'])
        await expect(call(streams, text).then((response) => response.text())).rejects.toThrow('terminated');
      expect(errors.map((error) => (error as Error).message)).toEqual([
        'a bug',
        'a bug',
        'The name and the id of an event have one line.',
        'An event of a stream is a text or has `data`.',
      ]);
    });

    it('as fast as it is read, and ends it when the marketplace hangs up', async () => {
      const hangUp = new AbortController();
      const response = await call(streams, 'endless', { signal: hangUp.signal });
      let before = -1;
      // The sockets and their buffers are full, and nobody reads.
      while (made > before) {
        before = made;
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
      expect(made).toBeGreaterThan(0);
      const ended = new Promise((resolve) => asked.signal.addEventListener('abort', resolve));
      hangUp.abort();
      await ended;
      before = made;
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect([made, errors, response.status]).toEqual([before, [], 200]);
    });
  });
});

describe('a job of sellerServer', () => {
  interface Delivery {
    path: string;
    id: string;
    body: string;
    isSigned: boolean;
  }
  const deliveries: Delivery[] = [];
  let refusals: number[] = [];
  const market = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const headers = request.headers as Record<string, string>;
      const isSigned = ((): boolean => {
        try {
          return new Webhook(secret).verify(body, headers) !== null;
        } catch {
          return false;
        }
      })();
      deliveries.push({ path: request.url!, id: headers['webhook-id']!, body, isSigned });
      response.writeHead(refusals.shift() ?? 200).end('{}');
    });
  });
  beforeAll(() => once(market.listen(0, '127.0.0.1'), 'listening'));
  afterAll(() => void market.close());

  const ask = (to: SellerServer, event: string): Promise<Response> => {
    const now = new Date();
    const { port } = market.address() as AddressInfo;
    return fetch(to.url, {
      method: 'POST',
      body: '{}',
      headers: {
        'X-Market-Event': event,
        'X-Market-Request-Id': 'call-1',
        'X-Market-Timestamp': String(Math.floor(now.getTime() / 1000)),
        'X-Market-Signature': new Webhook(secret).sign('call-1', now, '{}'),
        'X-Market-Job-Url': `http://127.0.0.1:${port}/jobs/call-1`,
        'X-Market-Job-Deadline': String(Math.floor(now.getTime() / 1000) + 60),
      },
    });
  };
  const delivered = async (count: number): Promise<Delivery[]> => {
    while (deliveries.length < count) await new Promise((resolve) => setTimeout(resolve, 10));
    return deliveries.splice(0);
  };

  it('is delivered to a marketplace that had lost that it was taken, and has asked for it again', async () => {
    const now = Date.now;
    let finish: () => void = () => undefined;
    const seller = await sellerServer(() => job(() => new Promise<void>((resolve) => (finish = resolve))), { secret });
    await ask(seller, 'gateway.call');
    Date.now = () => now() + 40_000;
    await ask(seller, 'gateway.call');
    refusals = [404, 404, 404, 404];
    finish();
    expect(new Set((await delivered(5)).map(({ path }) => path))).toEqual(new Set(['/jobs/call-1/result']));
    Date.now = now;
    await seller.close();
  });

  it('is taken at once, and delivered, signed, until the marketplace has heard it', async () => {
    const seller = await sellerServer(
      () =>
        job(async ({ progress }) => {
          await progress({ percent: 50 });
          refusals = [503, 408];
          return { done: true };
        }),
      { secret },
    );
    const taken = await ask(seller, 'gateway.call');
    expect([taken.status, taken.headers.get('x-market-job')]).toEqual([202, 'accepted']);
    const all = await delivered(4);
    expect(all.map(({ path, body }) => [path, body])).toEqual([
      ['/jobs/call-1/progress', '{"percent":50}'],
      ...Array.from({ length: 3 }, () => ['/jobs/call-1/result', '{"done":true}']),
    ]);
    for (const { id, isSigned, path } of all) {
      expect(isSigned).toBe(true);
      expect(id).toMatch(new RegExp(`^call-1-${path.split('/').at(-1)}-[0-9a-f]{32}$`));
    }
    await seller.close();
  });

  it('is given up when it throws, or when its buyer has cancelled it and it does', async () => {
    const errors: unknown[] = [];
    let calls = 0;
    const work: JobWork = async ({ signal }) => {
      calls += 1;
      if (calls === 2) await once(signal, 'abort');
      throw new Error('a bug');
    };
    const seller = await sellerServer(() => job(work), { secret, onError: (error) => void errors.push(error) });
    await ask(seller, 'gateway.call');
    expect((await delivered(1))[0]).toMatchObject({ path: '/jobs/call-1/failed', body: '{"reason":"internal_error"}' });
    expect(errors).toHaveLength(1);
    await ask(seller, 'gateway.call');
    expect((await ask(seller, 'gateway.cancel')).status).toBe(200);
    expect((await delivered(1))[0]).toMatchObject({ body: '{"reason":"cancelled"}', isSigned: true });
    await seller.close();
  });
});
