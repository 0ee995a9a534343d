import {
  evmWallet,
  Marketplace,
  sandboxPayer,
  x402Payer,
  type CreatedListing,
  type Payer,
  type StreamAnswer,
} from '@market/sdk';
import type { SellerRequest } from '@market/sdk/seller';
import { describeNeeding, eventually, startBalancer, type Nginx } from '@market/testing';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { fetchAs, payFor, withRelayId } from '../support/buyer.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { isEndpointTest, listServer, openShop, rogueServer, type RogueServer } from '../support/seller.js';
import { EventReader, type StreamResult } from '../support/event-reader.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** How long the edge waits for a seller that sends nothing: API_GATEWAY_CALL_BUDGET_MS. */
const CALL_BUDGET_MS = 150_000;

/** One answer of the seller, which the test writes piece by piece. */
interface Told {
  response: ServerResponse;
  write(text: string): void;
  end(text?: string): void;
}

inEachMode('answers that are streams', (harness) => {
  let [seller, buyer]: Agent[] = [];
  let server: RogueServer;
  let [listing, freeListing]: CreatedListing[] = [];
  const asked = new EventEmitter();
  let contentType = 'text/event-stream';
  let behave: ((told: Told) => void) | undefined;
  let longStreams: ReturnType<typeof beginLongStreams>;

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    server = await rogueServer((request, response) => {
      if (isEndpointTest(request))
        return void response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: one\n\n');
      const told: Told = {
        response,
        write: (text) => void response.write(text),
        end: (text) => void response.end(text),
      };
      response.writeHead(200, { 'content-type': contentType });
      if (behave) behave(told);
      else asked.emit('call', told);
    });
    const formats = ['sse', 'ndjson', 'jsonl'];
    [listing, freeListing] = await Promise.all([
      listServer(seller, server.url, { formats }),
      listServer(seller, server.url, { formats, pricing_amount: 0 }),
    ]);
    // It lasts for about as long as the other tests.
    longStreams = beginLongStreams();
    longStreams.catch(() => undefined);
  });
  beforeEach(() => {
    behave = undefined;
    contentType = 'text/event-stream';
  });
  afterAll(() => server.close());

  const nextCall = async (): Promise<Told> => ((await once(asked, 'call')) as [Told])[0];
  const send = (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: object,
    agent = buyer!,
  ): Promise<Response> => fetchAs(agent, harness.baseUrl, method, path, headers, body);
  /** Lets the seller begin an answer to this request, and reads the first event. */
  const begun = async (
    ask: () => Promise<Response>,
    first = 'data: one\n\n',
  ): Promise<{ told: Told; reader: EventReader }> => {
    const asking = nextCall();
    const answering = EventReader.open(ask());
    const told = await asking;
    told.write(first);
    const reader = await answering;
    await reader.until((each) => each.data().length > 0);
    return { told, reader };
  };
  const SSE = { accept: 'text/event-stream' };
  let calls = 0;
  /** A call that is paid. @returns the request for it, which may be repeated. */
  const bought = async (): Promise<(headers?: Record<string, string>) => Promise<Response>> => {
    const body = { call: (calls += 1) };
    const relay = withRelayId(await payFor(buyer!, listing!, body));
    return (headers = SSE) => send('POST', `/gateway/${listing!.id}`, { ...relay, ...headers }, body);
  };
  const contentOf = (requestId: string, headers: Record<string, string> = {}, agent?: Agent): Promise<Response> =>
    send('GET', `/gateway-requests/${requestId}/content`, headers, undefined, agent);
  const resultOf = async (response: Response): Promise<StreamResult> =>
    ((await response.json()) as { data: StreamResult }).data;
  /** Two streams that last longer than the edge waits for a call, of events that are further apart than `timeout_ms`. */
  const beginLongStreams = async () => {
    const shop = await openShop(
      seller!,
      async function* ({ signal }) {
        for (const until = Date.now() + CALL_BUDGET_MS + 3_000; ; await delay(7_000, undefined, { signal })) {
          yield 'one more';
          if (Date.now() > until) return;
        }
      },
      { formats: ['sse'] },
    );
    await seller!.market.endpoint.update(shop.listing, { timeout_ms: 5_000 });
    const callsOf = async (accept: string): Promise<() => Promise<Response>> => {
      const relay = withRelayId(await payFor(buyer!, shop.listing, { accept }));
      return () => send('POST', `/gateway/${shop.listing.id}`, { ...relay, accept }, { accept });
    };
    const [relayed, collected] = await Promise.all([callsOf('text/event-stream'), callsOf('application/json')]);
    const [reader, pending] = await Promise.all([
      EventReader.open(relayed()).then((each) => each.until(({ isOver }) => isOver)),
      collected(),
    ]);
    return { reader, pending, collected, shop };
  };
  const owedTo = async (agent: Agent) =>
    (await agent.market.refunds.list({ role: 'buyer' })).data.map(({ gateway_request_id: id }) => id);

  it('are relayed as they come, charged at their end, and given again', async () => {
    const call = await bought();
    const { told, reader } = await begun(call, ': hello\nid: 1\nevent: token\ndata: {"text":"Föhn"}\n\n');
    expect(reader.response.status).toBe(200);
    expect(Object.fromEntries(reader.response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      vary: expect.stringContaining('Accept') as string,
    });
    const requestId = reader.response.headers.get('x-market-request-id')!;
    expect(reader.events).toEqual([
      { id: undefined, event: 'market.open', data: JSON.stringify({ request_id: requestId, attempt: 1 }) },
      { id: '1', event: 'token', data: '{"text":"Föhn"}' },
    ]);
    expect(await buyer!.market.gatewayRequests.get(requestId)).toMatchObject({ status: 'forwarding' });

    told.write('data: two\ndata: lines\n\n');
    await reader.until(({ events }) => events.length >= 3);
    told.end('retry: 10\nid: 3\ndata: last\n\ndata: half of one');
    await reader.until(({ isOver }) => isOver);
    const written =
      ': hello\n\nevent: token\nid: 1\ndata: {"text":"Föhn"}\n\ndata: two\ndata: lines\n\nid: 3\ndata: last\n\n';
    expect(reader.data()).toEqual(['{"text":"Föhn"}', 'two\nlines', 'last']);
    expect(reader.events.at(-1)).toMatchObject({ id: 'market.end', event: 'market.result' });
    expect(reader.result).toMatchObject({
      request_id: requestId,
      billable: true,
      charged_amount: { amount_cents: 25, currency: 'USD' },
      fees: { fee_amount_cents: 1.25 },
      seller_status_code: 200,
      events: 3,
      bytes: Buffer.byteLength(written),
      sha256: sha256(written),
      outcome: 'completed',
    });

    const before = server.calls;
    const again = await (await EventReader.open(call())).until(({ isOver }) => isOver);
    expect([again.data(), again.result]).toEqual([reader.data(), reader.result]);
    const content = await contentOf(requestId);
    expect([content.headers.get('content-type'), await content.text()]).toEqual(['text/event-stream', written]);
    const part = await contentOf(requestId, { range: 'bytes=0-6' });
    expect([part.status, await part.text()]).toEqual([206, ': hello']);
    expect((await contentOf(requestId, {}, seller!)).status).toBe(404);
    expect(await buyer!.market.gatewayRequests.get(requestId)).toMatchObject({
      status: 'succeeded',
      kind: 'stream',
      content_type: 'text/event-stream',
      size: Buffer.byteLength(written),
      response_digest: sha256(written),
    });
    expect(server.calls).toBe(before);
  });

  it('are collected for clients that ask for JSON', async () => {
    behave = ({ end }) => end('event: token\nid: 7\ndata: {"a":1}\n\ndata: 1\n\ndata: [DONE]\n\n');
    const call = await bought();
    const first = await call({ accept: 'application/json, text/event-stream;q=0' });
    expect([first.status, first.headers.get('x-market-billable')]).toEqual([200, 'true']);
    const result = await resultOf(first);
    expect(result).toMatchObject({
      billable: true,
      seller_response: {
        content_type: 'text/event-stream',
        events: [
          { event: 'token', data: { a: 1 }, id: '7' },
          { event: 'message', data: '1', id: null },
          { event: 'message', data: '[DONE]', id: null },
        ],
        content_url: `/api/v1/gateway-requests/${result.request_id}/content`,
      },
    });
    expect(await resultOf(await call({}))).toEqual(result);
  });

  it('have more events than fit into JSON only where they are stored', async () => {
    behave = ({ end }) => end('data: x\n\n'.repeat(10_001));
    const { seller_response: answer, request_id: id } = await resultOf(await (await bought())({}));
    expect(answer).toEqual({
      content_type: 'text/event-stream',
      size: 9 * 10_001,
      sha256: sha256('data: x\n\n'.repeat(10_001)),
      outcome: 'completed',
      content_url: `/api/v1/gateway-requests/${id}/content`,
    });
  });

  it('are closed for a seller whose comments never end', async () => {
    behave = ({ response, write }) => {
      const flood = setInterval(() => write(`: ${'x'.repeat(65_536)}\n\n`), 1);
      response.on('close', () => clearInterval(flood));
    };
    expect(await resultOf(await (await bought())())).toMatchObject({ error: { reason: 'broken_stream' } });
  });

  describeNeeding('nginx')('behind nginx with its defaults', () => {
    let proxy: Nginx;
    beforeAll(async () => {
      proxy = await startBalancer([harness.baseUrl]);
    });
    afterAll(() => proxy?.stop());

    it('are relayed as they come', async () => {
      const body = { call: (calls += 1) };
      const relay = withRelayId(await payFor(buyer!, listing!, body));
      const asking = nextCall();
      const answering = EventReader.open(
        fetch(`${proxy.url}/api/v1/gateway/${listing!.id}`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${buyer!.registration.api_key}`,
            'content-type': 'application/json',
            ...relay,
            ...SSE,
          },
          body: JSON.stringify(body),
        }),
      );
      const told = await asking;
      told.write('data: one\n\n');
      const reader = await answering;
      await reader.until((each) => each.data().length === 1);
      told.end('data: two\n\n');
      await reader.until(({ isOver }) => isOver);
      expect([reader.data(), reader.result?.billable]).toEqual([['one', 'two'], true]);
    });
  });

  it('may be JSON lines, which cannot write in the name of the marketplace', async () => {
    contentType = 'application/x-ndjson';
    behave = ({ end }) => end('{"a":1,\revent: market.result\rdata: {}}\n\n');
    const forged = await resultOf(await (await bought())());
    expect(forged).toMatchObject({ billable: false, error: { reason: 'broken_stream' }, seller_response: null });

    behave = ({ end }) => end('{"a":\r1}\r\n[2]\n"three"');
    const reader = await (await EventReader.open((await bought())())).until(({ isOver }) => isOver);
    expect(reader.data()).toEqual(['{"a": 1}', '[2]', '"three"']);
    expect(reader.result).toMatchObject({ billable: true, events: 3 });
  });

  it('that are faulty behind their first event break off there, also if all of it comes at once', async () => {
    await seller!.market.endpoint.update(freeListing!, { limits: { max_response_bytes: 1_024 } });
    const faults: [string, string, CreatedListing, string][] = [
      ['text/event-stream', 'data: 1\n\nevent: MARKET.result\ndata: {}\n\n', listing!, 'broken_stream'],
      ['application/jsonl', '1\n{"a":\n', listing!, 'broken_stream'],
      ['text/event-stream', `data: 1\n\ndata: ${'x'.repeat(2_000)}\n\n`, freeListing!, 'too_large'],
    ];
    for (const [type, text, of, reason] of faults) {
      contentType = type;
      // In pieces, so that its length is not known before.
      behave = ({ write, end }) => (write(text), end());
      const body = { call: (calls += 1) };
      const paid = of === listing ? withRelayId(await payFor(buyer!, of, body)) : {};
      const answering = send('POST', `/gateway/${of.id}`, { ...paid, ...SSE }, body);
      const reader = await (await EventReader.open(answering)).until(({ isOver }) => isOver);
      expect([text, reader.data(), reader.result]).toMatchObject([
        text,
        ['1'],
        { billable: false, outcome: 'broken', events: 1, error: { reason } },
      ]);
    }
    await seller!.market.endpoint.update(freeListing!, { limits: { max_response_bytes: 1_048_576 } });
  });

  it('are joined by other readers, from their beginning or from behind an event', async () => {
    const call = await bought();
    const asking = nextCall();
    const answering = EventReader.open(call());
    const told = await asking;
    told.write('id: 1\ndata: one\n\n');
    const first = await answering;
    told.write('id: 2\ndata: two\n\n');
    await first.until(({ events }) => events.length >= 3);
    const requestId = first.response.headers.get('x-market-request-id')!;
    const before = server.calls;
    const joined = await EventReader.open(call());
    const later = await EventReader.open(contentOf(requestId, { ...SSE, 'last-event-id': '1' }));
    const unknown = await EventReader.open(contentOf(requestId, { ...SSE, 'last-event-id': 'never' }));
    await joined.until((reader) => reader.data().length >= 2);
    expect((await contentOf(requestId)).status).toBe(404);
    expect((await contentOf(requestId, SSE, seller!)).status).toBe(404);
    told.end('id: 3\ndata: three\n\n');
    const readers = [first, joined, later, unknown];
    await Promise.all(readers.map((reader) => reader.until(({ isOver }) => isOver)));
    expect(readers.map((reader) => reader.data())).toEqual([
      ['one', 'two', 'three'],
      ['one', 'two', 'three'],
      ['two', 'three'],
      ['one', 'two', 'three'],
    ]);
    for (const reader of readers) expect(reader.result).toEqual(first.result);
    expect(server.calls).toBe(before);
    for (const again of [call, (headers: Record<string, string>) => contentOf(requestId, headers)]) {
      const behind = await EventReader.open(again({ ...SSE, 'last-event-id': '2' }));
      await behind.until(({ isOver }) => isOver);
      expect([behind.data(), behind.result]).toEqual([['three'], first.result]);
      expect(behind.response.headers.get('vary')).toContain('Accept');
      expect((await again({ ...SSE, 'last-event-id': 'market.end' })).status).toBe(204);
    }
    expect(server.calls).toBe(before);
  });

  it('that break off are owed back, and the call is over', async () => {
    const call = await bought();
    const { told, reader } = await begun(call);
    told.response.destroy();
    await reader.until(({ isOver }) => isOver);
    expect(reader.data()).toEqual(['one']);
    expect(reader.result).toMatchObject({
      billable: false,
      charged_amount: { amount_cents: 0 },
      outcome: 'broken',
      events: 1,
      error: { reason: 'broken_stream' },
      refund: { status: 'refund_due' },
      recovery: { next_action: 'request_new_payment_requirements', use_new_idempotency_key: true },
    });
    const { request_id: requestId } = reader.result!;
    expect(await owedTo(buyer!)).toContain(requestId);

    const before = server.calls;
    const again = await (await EventReader.open(call())).until(({ isOver }) => isOver);
    expect([again.data(), again.result]).toEqual([reader.data(), reader.result]);
    expect(await resultOf(await call({}))).toMatchObject({
      billable: false,
      seller_response: { events: [{ event: 'message', data: 'one', id: null }] },
    });
    expect(await (await contentOf(requestId)).text()).toBe('data: one\n\n');
    expect(server.calls).toBe(before);
    expect((await buyer!.market.gatewayRequests.get(requestId)).status).toMatch(/^(seller_failed|refund_due)$/);
  });

  it('that fail before their first event charge nothing, and the payment is good again', async () => {
    const call = await bought();
    const failures: [string, (told: Told) => void][] = [
      // No event.
      ['broken_stream', ({ end }) => end(': only a comment\n\nid: 1\nretry: 5\n\n')],
      // A name of the marketplace.
      ['broken_stream', ({ end }) => end('event:  Market.result \ndata: {}\n\n')],
      // No UTF-8.
      ['broken_stream', ({ response }) => void response.end(Buffer.from('646174613aff0a0a', 'hex'))],
      ['protocol_error', ({ response }) => void response.write('data: ha', () => response.destroy())],
    ];
    for (const [reason, fail] of failures) {
      behave = fail;
      const failed = await call();
      expect([failed.status, failed.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
      expect(await resultOf(failed)).toMatchObject({
        billable: false,
        seller_status_code: 502,
        error: { reason },
        seller_response: null,
      });
    }
    behave = ({ end }) => end('data: well\n\n');
    const reader = await (await EventReader.open(call())).until(({ isOver }) => isOver);
    expect(reader.result).toMatchObject({ billable: true, events: 1 });
  });

  it('are read on when their buyer hangs up, and are charged', async () => {
    const call = await bought();
    const { told, reader } = await begun(call);
    reader.hangUp();
    await reader.until(({ isOver }) => isOver);
    told.end('data: two\n\n');
    const again = await (await EventReader.open(call())).until(({ isOver }) => isOver);
    expect([again.data(), again.result?.billable]).toEqual([['one', 'two'], true]);
  });

  it('end for a seller that is silent for too long, or that takes too long', async () => {
    await seller!.market.endpoint.update(listing!, { limits: { idle_timeout_ms: 1_000, stream_timeout_ms: 2_500 } });
    await eventually(async () =>
      expect((await buyer!.market.listings.get(listing!.id)).gateway_limits).toMatchObject({
        idle_timeout_ms: 1_000,
        stream_timeout_ms: 2_500,
      }),
    );
    behave = ({ write }) => write('data: one\n\n');
    const silent = await (await EventReader.open((await bought())())).until(({ isOver }) => isOver);
    expect(silent.result).toMatchObject({
      billable: false,
      outcome: 'broken',
      events: 1,
      error: { reason: 'timeout' },
    });
    let timer: NodeJS.Timeout;
    behave = ({ write, response }) => {
      timer = setInterval(() => write('data: more\n\n'), 200);
      response.on('close', () => clearInterval(timer));
    };
    const endless = await (await EventReader.open((await bought())())).until(({ isOver }) => isOver);
    expect(endless.result).toMatchObject({ billable: false, outcome: 'broken', error: { reason: 'timeout' } });
    await seller!.market.endpoint.update(listing!, { limits: { idle_timeout_ms: 30_000, stream_timeout_ms: 600_000 } });
  });

  it('may be free, and are shared by requests with one Idempotency-Key', async () => {
    const ask = () =>
      send('POST', `/gateway/${freeListing!.id}`, { ...SSE, 'idempotency-key': 'one-stream' }, { a: 1 });
    const { told, reader: first } = await begun(ask);
    const before = server.calls;
    const second = await EventReader.open(ask());
    told.end('data: two\n\n');
    for (const reader of [first, second]) {
      await reader.until(({ isOver }) => isOver);
      expect([reader.data(), reader.result?.billable]).toEqual([['one', 'two'], true]);
    }
    expect(server.calls).toBe(before);
  });

  it('that are free are read on only while they have a reader', async () => {
    const { told, reader } = await begun(() => send('POST', `/gateway/${freeListing!.id}`, SSE, { a: 1 }));
    const closed = once(told.response, 'close');
    reader.hangUp();
    await closed;
    expect(told.response.writableEnded).toBe(false);
  });

  it('are sold to x402 clients, whose signature is settled at the first event', async () => {
    const account = privateKeyToAccount(generatePrivateKey());
    const pay = wrapFetchWithPayment(fetch, new x402Client().register('eip155:*', new ExactEvmScheme(account)));
    const ask = (body: object) =>
      pay(`${harness.baseUrl}/api/v1/x402/${listing!.slug}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...SSE },
        body: JSON.stringify(body),
      });
    for (const route of ['gateway', 'x402']) {
      const asked = await send('POST', `/${route}/${listing!.slug}`, {}, { settles: route });
      expect(await asked.json()).toMatchObject({ data: { payment: { settles: 'on_first_event' } } });
    }
    const { told, reader } = await begun(() => ask({ keyless: 1 }));
    const settled = JSON.parse(Buffer.from(reader.response.headers.get('payment-response')!, 'base64').toString()) as {
      success: boolean;
      payer: string;
    };
    expect(settled).toMatchObject({ success: true, payer: account.address.toLowerCase() });
    told.end('data: two\n\n');
    await reader.until(({ isOver }) => isOver);
    expect([reader.data(), reader.result]).toMatchObject([['one', 'two'], { billable: true, outcome: 'completed' }]);

    const again = nextCall();
    const broken = EventReader.open(ask({ keyless: 2 }));
    const toldAgain = await again;
    toldAgain.write('data: one\n\n');
    const cut = await broken;
    await cut.until(({ events }) => events.length >= 2);
    toldAgain.response.destroy();
    await cut.until(({ isOver }) => isOver);
    expect(cut.result).toMatchObject({ billable: false, outcome: 'broken', refund: { status: 'refund_due' } });
    // The money went to the seller, which owes it back whole, and no fee of it.
    const { request_id: cutId } = cut.result!;
    const { data: owed } = await seller!.market.refunds.list({ role: 'seller' });
    expect(owed.find(({ gateway_request_id: id }) => id === cutId)).toMatchObject({
      reason: 'not_delivered',
      owed_by: 'seller',
      amount: { usd: 0.25 },
    });
    const { data: entries } = await seller!.market.ledger.list({ listing_id: listing!.id });
    const fees = entries.filter(
      ({ type, reference }) => type === 'marketplace_fee' && reference.gateway_request_id === cutId,
    );
    expect(fees).toEqual([]);
  });

  it('pass the endpoint test of their seller with their first event', async () => {
    const tested = await seller!.market.endpoint.test(listing!);
    expect(tested).toMatchObject({ success: true, seller_status_code: 200 });
    expect(tested.checks.map(({ name }) => name)).toEqual(['reachable', 'in_time', 'stream', 'status']);
  });

  it('are sold and bought with the SDK, with a key and without, however often the connection is lost', async () => {
    let heard = 0;
    // The next word is said when the last was heard, so that nothing may wait on the way.
    const shop = await openShop(
      seller!,
      async function* ({ body, signal }) {
        const { words } = body as { words: string[] };
        for (const [before, word] of words.entries()) {
          while (heard < before) await delay(5, undefined, { signal });
          yield before % 2 === 0 ? word : { data: { word }, event: 'odd', id: String(before) };
        }
      },
      { formats: ['sse'] },
    );
    const words = ['a', 'b', 'c', 'd', 'e', 'f'];
    let streams = 0;
    // Loses the connection of each stream, one part later than the last time.
    const losing: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
      streams += 1;
      if (heard === words.length) return response;
      const body = response.body!.getReader();
      let parts = 0;
      const part = new ReadableStream({
        async pull(into) {
          const { value } = await body.read();
          into.enqueue(value);
          if ((parts += 1) <= streams) return;
          await body.cancel();
          into.close();
        },
      });
      return new Response(part, response);
    };
    const account = evmWallet();
    const ways: [string | undefined, Payer][] = [
      [buyer!.registration.api_key, sandboxPayer(buyer!.market)],
      [undefined, x402Payer(account, { 'eip155:84532': {} })],
    ];
    for (const [apiKey, pay] of ways) {
      heard = 0;
      streams = 0;
      const market = new Marketplace({ baseUrl: harness.baseUrl, apiKey, fetch: losing });
      const calls = shop.requests.length;
      const stream = await market.stream(shop.listing, { words }, { pay });
      const got: unknown[] = [];
      for await (const { data } of stream) heard = got.push(data);
      expect(got).toEqual(['a', { word: 'b' }, 'c', { word: 'd' }, 'e', { word: 'f' }]);
      expect(await stream.result()).toMatchObject({
        billable: true,
        charged_amount: { amount_cents: 25 },
        outcome: 'completed',
      });
      expect(streams).toBeGreaterThan(2);
      expect(shop.requests).toHaveLength(calls + 1);
      const again = await market.call<StreamAnswer>(
        shop.listing,
        { words },
        {
          relayRequestId: stream.relayRequestId!,
          pay,
        },
      );
      expect(again.seller_response.events?.map(({ data }) => data)).toEqual(got);
      if (apiKey) expect(new TextDecoder().decode(await again.bytes())).toMatch(/^data: a\n\nevent: odd\nid: 1\n/);
    }
    await shop.close();
  });

  it('are told to be over when the marketplace hangs up on a seller of the SDK', async () => {
    let asked: SellerRequest | undefined;
    const shop = await openShop(
      seller!,
      async function* (request) {
        asked = request;
        yield 'one';
        await once(request.signal, 'abort');
      },
      { formats: ['sse'] },
    );
    await seller!.market.endpoint.update(shop.listing, { limits: { idle_timeout_ms: 1_000 } });
    const { market } = buyer!;
    const stream = await market.stream(shop.listing, {}, { pay: sandboxPayer(market), retries: 1 });
    expect(await stream.result()).toMatchObject({ billable: false, outcome: 'broken', events: 1 });
    expect(asked?.signal.aborted).toBe(true);
    await shop.close();
  });

  it('last to their first event for timeout_ms, and then for as long as they may, whatever time a call has', async () => {
    const { reader, pending, collected, shop } = await longStreams;
    expect(reader.result).toMatchObject({ billable: true, outcome: 'completed', events: reader.data().length });
    expect(reader.data().length).toBeGreaterThan(CALL_BUDGET_MS / 10_000);
    // A client that has it collected asks again.
    expect(pending.status).toBe(202);
    const whole = await eventually(
      async () => {
        const response = await collected();
        expect(response.status).toBe(200);
        return resultOf(response);
      },
      { withinMs: 60_000 },
    );
    expect(whole).toMatchObject({ billable: true, seller_response: { outcome: 'completed' } });
    expect(whole.seller_response!.events.length).toBeGreaterThan(CALL_BUDGET_MS / 10_000);
    expect(shop.requests).toHaveLength(2);
    await shop.close();

    const slow = await listServer(seller!, server.url, { formats: ['sse'] });
    await seller!.market.endpoint.update(slow, { timeout_ms: 1_000 });
    behave = ({ response, write }) => {
      const comments = setInterval(() => write(': still here\n\n'), 200);
      response.on('close', () => clearInterval(comments));
    };
    const relay = withRelayId(await payFor(buyer!, slow, {}));
    const late = await send('POST', `/gateway/${slow.id}`, { ...relay, ...SSE }, {});
    expect(await resultOf(late)).toMatchObject({
      billable: false,
      seller_status_code: 504,
      error: { reason: 'timeout' },
      seller_response: null,
    });
  }, 400_000);
});
