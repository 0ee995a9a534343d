import { sandboxPayer, type CreatedListing } from '@market/sdk';
import { eventually } from '@market/testing';
import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { callOnce, fetchAs, payFor, reasonOf, withRelayId } from '../support/buyer.js';
import { EventReader } from '../support/event-reader.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { jobServer, type JobServer } from '../support/job-server.js';
import { isEndpointTest, listServer, rogueServer, type RogueServer } from '../support/seller.js';

const SSE = { accept: 'text/event-stream' };
const MAX_READERS_OF_CALL = 8;
const MAX_READERS_OF_ACCOUNT = 20;

inEachMode('the rules of answers that are no JSON', (harness) => {
  let [seller, buyer]: Agent[] = [];
  let server: RogueServer;
  let listing: CreatedListing;
  let jobs: JobServer;
  let jobListing: CreatedListing;
  const asked = new EventEmitter();

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    [server, jobs] = await Promise.all([
      rogueServer((request, response) => {
        if (isEndpointTest(request)) response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
        else asked.emit('call', response);
      }),
      jobServer(),
    ]);
    [listing, jobListing] = await Promise.all([
      listServer(seller, server.url, { formats: ['sse', 'csv'] }),
      listServer(seller, jobs.url, { delivery_type: 'webhook' }),
    ]);
    jobs.secret = jobListing.gateway_signing_secret!;
  });
  afterAll(() => Promise.all([server.close(), jobs.close()]));

  let calls = 0;
  const ask = async (headers: Record<string, string>, agent = buyer!): Promise<() => Promise<Response>> => {
    const body = { call: (calls += 1) };
    const relay = withRelayId(await payFor(agent, listing, body));
    return () => fetchAs(agent, harness.baseUrl, 'POST', `/gateway/${listing.id}`, { ...relay, ...headers }, body);
  };
  /** A stream that is open, and how its seller goes on. */
  const stream = async (): Promise<{ call: () => Promise<Response>; reader: EventReader; seller: ServerResponse }> => {
    const call = await ask(SSE);
    const calling = once(asked, 'call');
    const answering = call();
    const [response] = (await calling) as [ServerResponse];
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: one\n\n');
    const reader = new EventReader(await answering);
    await reader.until((each) => each.data().length > 0);
    return { call, reader, seller: response };
  };

  it('are for at most eight readers of a call and twenty of an account', async () => {
    const refusal = async (response: Promise<Response>): Promise<unknown> => {
      const refused = await response;
      return [refused.status, refused.headers.has('retry-after'), await refused.json()];
    };
    const tooMany = (limit: number): unknown => [
      429,
      true,
      expect.objectContaining({
        error: expect.objectContaining({
          details: expect.objectContaining({ reason: 'too_many_streams', limit }) as object,
        }),
      }),
    ];
    const streams = [await stream(), await stream(), await stream()];
    const readers = streams.map(({ reader }) => reader);
    const join = async (n: number): Promise<void> => {
      readers.push(await (await EventReader.open(streams[n]!.call())).until(({ events }) => events.length >= 2));
    };
    for (let more = 1; more < MAX_READERS_OF_CALL; more += 1) await join(0);
    expect(await refusal(streams[0]!.call())).toEqual(tooMany(MAX_READERS_OF_CALL));
    for (let more = 1; more < MAX_READERS_OF_CALL; more += 1) await join(1);
    while (readers.length < MAX_READERS_OF_ACCOUNT) await join(2);
    expect(await refusal(streams[2]!.call())).toEqual(tooMany(MAX_READERS_OF_ACCOUNT));
    for (const { seller: response } of streams) response.end();
    for (const reader of readers) {
      await reader.until(({ isOver }) => isOver);
      expect(reader.result).toMatchObject({ billable: true, events: 1 });
    }
    // The places are free again.
    await eventually(async () => {
      const again = await (await EventReader.open(streams[0]!.call())).until(({ isOver }) => isOver);
      expect(again.result).toEqual(readers[0]!.result);
    });
  });

  it('cut off a reader that takes nothing, which has bought what it does not take', async () => {
    const body = { call: (calls += 1) };
    const relay = withRelayId(await payFor(buyer!, listing, body));
    const text = JSON.stringify(body);
    const { hostname, port } = new URL(harness.baseUrl);
    const socket = connect(Number(port), hostname);
    const calling = once(asked, 'call');
    const headers = {
      host: 'x',
      authorization: `Bearer ${buyer!.registration.api_key}`,
      'content-type': 'application/json',
      'content-length': text.length,
      ...relay,
      ...SSE,
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.pause();
    socket.write(`POST /api/v1/gateway/${listing.id} HTTP/1.1\r\n${lines.join('')}\r\n${text}`);
    const [response] = (await calling) as [ServerResponse];
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    // More than the buffers of sockets take.
    for (let sent = 0; sent < 24; sent += 1)
      if (!response.write(`data: ${'x'.repeat(1_000_000)}\n\n`)) await once(response, 'drain');
    response.end();
    const startedAt = Date.now();
    let taken = 0;
    socket.on('data', (bytes) => (taken += bytes.length));
    // What is in the buffers is read when the marketplace has hung up.
    setTimeout(() => socket.resume(), 45_000);
    await once(socket, 'close');
    expect(Date.now() - startedAt).toBeLessThan(60_000);
    expect(taken).toBeLessThan(24_000_000);
    const again = await fetchAs(buyer!, harness.baseUrl, 'POST', `/gateway/${listing.id}`, { ...relay, ...SSE }, body);
    const reader = await new EventReader(again).until(({ isOver }) => isOver);
    expect(reader.result).toMatchObject({ billable: true, outcome: 'completed', events: 24 });
  }, 120_000);

  it('show what was bought to a key that could have bought it', async () => {
    const { call, reader, seller: response } = await stream();
    response.end();
    await reader.until(({ isOver }) => isOver);
    const { request_id: id } = reader.result!;
    const path = `/gateway-requests/${id}/content`;
    const statusFor = async (listings: string[]): Promise<number> => {
      const body = { name: 'reads', scopes: ['read'], budget: { listings } };
      const { key } = await buyer!.market.request<{ key: string }>('POST', '/api-keys', { body });
      const read = await fetch(`${harness.baseUrl}/api/v1${path}`, { headers: { authorization: `Bearer ${key}` } });
      return read.status;
    };
    expect([await statusFor([listing.id]), await statusFor([jobListing.id])]).toEqual([200, 404]);
    expect((await (await EventReader.open(call())).until(({ isOver }) => isOver)).data()).toEqual(['one']);
  });

  it('are said in JSON where nothing is delivered, whatever is accepted', async () => {
    for (const accept of ['text/csv', 'application/octet-stream', 'text/event-stream', 'image/png']) {
      const unpaid = await fetchAs(buyer!, harness.baseUrl, 'POST', `/gateway/${listing.id}`, { accept }, { accept });
      expect([unpaid.status, unpaid.headers.get('content-type')]).toEqual([402, expect.stringMatching(/json/)]);
      const call = await ask({ accept });
      const answers: ((response: ServerResponse) => void)[] = [
        (response) => void response.writeHead(200).end('a,b\n'),
        (response) => void response.writeHead(200, { 'content-type': ['text/csv', 'text/csv'] }).end('a,b\n'),
        (response) => void response.writeHead(200, { 'content-type': 'csv' }).end('a,b\n'),
        (response) => void response.writeHead(200, { 'content-type': 'text/csv' }).end(),
        (response) => void response.writeHead(422, { 'content-type': 'text/csv' }).end('a,b\n'),
      ];
      for (const answer of answers) {
        const calling = once(asked, 'call');
        const answering = call();
        answer(((await calling) as [ServerResponse])[0]);
        const failed = await answering;
        expect([failed.status, failed.headers.get('x-market-billable')]).toEqual([200, 'false']);
        expect(await failed.json()).toMatchObject({ success: true, data: { billable: false, seller_response: null } });
      }
    }
  });

  it('count a job in the budget of its key until it has failed, and tell its seller of it as of any sale', async () => {
    const body = { name: 'spends', scopes: ['read', 'subscribe'], budget: { per_day_usd: 0.25 } };
    const { key } = await buyer!.market.request<{ key: string }>('POST', '/api-keys', { body });
    const market = buyer!.market.authorizedBy(`Bearer ${key}`);
    const spender = { ...buyer!, market };
    const working = await market.job(jobListing, { spends: 1 }, { pay: sandboxPayer(market) });
    const refused = async (): Promise<unknown> => {
      const answer = await callOnce(spender, jobListing, { spends: 2 });
      return [answer.status, reasonOf(answer)];
    };
    expect(await refused()).toEqual([403, 'budget_exceeded']);
    const job = jobs.taken.find(({ requestId }) => requestId === working.requestId)!;
    await jobs.deliver(job, 'failed', '{"reason":"no"}');
    await eventually(async () => expect((await refused()) as unknown[]).toEqual([402, undefined]));
    expect((await working.result()).billable).toBe(false);

    const next = await market.job(jobListing, { spends: 2 }, { pay: sandboxPayer(market) });
    await jobs.deliver(
      jobs.taken.find(({ requestId }) => requestId === next.requestId)!,
      'result',
      '{}',
    );
    expect((await next.result()).billable).toBe(true);
    const typesOf = async ({ market: of }: Agent, id: string | null): Promise<string[]> => {
      const { json } = await of.send('GET', '/events?limit=100');
      const { data } = json as { data: { type: string; data: object }[] };
      return data.filter((event) => JSON.stringify(event.data).includes(id!)).map(({ type }) => type);
    };
    const told = async (id: string | null) => [await typesOf(seller!, id), await typesOf(buyer!, id)];
    await eventually(async () => {
      expect(await told(working.requestId)).toEqual([
        ['delivery_failed'],
        expect.arrayContaining(['call.failed']) as unknown,
      ]);
      expect(await told(next.requestId)).toEqual([['sale'], expect.arrayContaining(['call.completed']) as unknown]);
    });
  });

  it('take the place of a call until a stream has ended, or a job is accepted', async () => {
    const [busy, busyWithJobs] = await Promise.all([
      listServer(seller!, server.url, { formats: ['sse'], pricing_amount: 0 }),
      listServer(seller!, jobs.url, { delivery_type: 'webhook', pricing_amount: 0 }),
    ]);
    for (const { id } of [busy, busyWithJobs])
      await seller!.market.endpoint.update({ id }, { limits: { max_concurrency: 1 } });
    const call = ({ id }: CreatedListing) =>
      fetchAs(buyer!, harness.baseUrl, 'POST', `/gateway/${id}`, SSE, { call: (calls += 1) });
    const calling = once(asked, 'call');
    const answering = call(busy);
    const [response] = (await calling) as [ServerResponse];
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: one\n\n');
    const reader = new EventReader(await answering);
    await reader.until((each) => each.data().length > 0);
    const refused = await call(busy);
    expect([refused.status, await refused.json()]).toMatchObject([
      429,
      { error: { details: { reason: 'listing_busy' } } },
    ]);
    response.end();
    await reader.until(({ isOver }) => isOver);
    asked.once('call', (next: ServerResponse) =>
      next.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: two\n\n'),
    );
    await eventually(async () => expect((await call(busy)).status).toBe(200));
    expect([(await call(busyWithJobs)).status, (await call(busyWithJobs)).status]).toEqual([202, 202]);
  });
});
