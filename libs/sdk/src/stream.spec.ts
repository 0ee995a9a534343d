import fc from 'fast-check';
import { FakeGateway } from '../test/fake-gateway.js';
import { TestClock } from '../test/test-clock.js';
import { isFile } from './file.js';
import { Marketplace } from './marketplace.js';
import { sandboxPayer } from './payer.js';
import { isStream, type AnswerStream, type StreamAnswer, type StreamEvent } from './stream.js';

describe('stream', () => {
  let gateway: FakeGateway;
  let market: Marketplace;

  beforeEach(async () => {
    gateway = await FakeGateway.start();
    gateway.events = [{ data: 'one', id: '1' }, { data: '{"b":2}', event: 'token' }, { data: '3\n[DONE]' }];
    market = new Marketplace({ baseUrl: gateway.baseUrl, apiKey: 'am_k_test', clock: new TestClock() });
  });
  afterEach(() => gateway.stop());

  const EVENTS = [
    { event: 'message', data: 'one', id: '1' },
    { event: 'token', data: { b: 2 }, id: null },
    { event: 'message', data: '3\n[DONE]', id: null },
  ];
  const open = (options: object = {}, body: object = { text: 'a' }) =>
    market.stream('listing-1', body, { pay: sandboxPayer(market), ...options });
  const allOf = async (stream: AnswerStream): Promise<StreamEvent[]> => {
    const events: StreamEvent[] = [];
    for await (const event of stream) events.push(event);
    return events;
  };

  it('pays as a call does, and gives the events and the result', async () => {
    const stream = await open();

    expect(stream).toMatchObject({ relayRequestId: 'relay-1', settlement: null });
    expect(await allOf(stream)).toEqual(EVENTS);
    expect(await stream.result()).toMatchObject({ billable: true, events: 3, outcome: 'completed' });
    expect([gateway.payments, gateway.charges]).toEqual([['relay-1'], ['relay-1']]);
  });

  it('has a result also for who reads nothing, or not all', async () => {
    expect(await (await open()).result()).toMatchObject({ billable: true });
    const stream = await open();
    for await (const { data } of stream) {
      expect(data).toBe('one');
      expect(await stream.result()).toMatchObject({ billable: true });
    }
  });

  it('gives each event once and is paid once, wherever its connection is lost', async () => {
    const id = fc.option(fc.constantFrom('1', '2', '3', 'é', 'a b'), { nil: undefined });
    const events = fc.array(fc.record({ data: fc.constantFrom('x', 'y', '{"z":1}'), id }), {
      minLength: 1,
      maxLength: 8,
    });
    const cuts = fc.array(fc.nat(4), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(events, cuts, fc.boolean(), fc.uuid(), async (sent, cut, keepsContent, text) => {
        gateway.events = sent;
        gateway.cuts.splice(0, Infinity, ...cut);
        gateway.keepsContent = keepsContent;
        gateway.payments.length = 0;
        gateway.charges.length = 0;

        const stream = await open({}, { text });
        const got = await allOf(stream);

        expect(got.map(({ data, id: of }) => [data, of])).toEqual(
          sent.map(({ data, id: of }) => [data === '{"z":1}' ? { z: 1 } : data, of ?? null]),
        );
        expect(await stream.result()).toMatchObject({ billable: true, events: sent.length });
        expect(gateway.payments).toHaveLength(1);
        expect(gateway.charges).toEqual(gateway.payments);
      }),
      { numRuns: 60 },
    );
  }, 60_000);

  it('is joined behind its last event by GET, and without a key by the same paid request', async () => {
    gateway.cuts.push(2);
    await (await open()).result();
    const [asked, paid, joined] = gateway.seen.filter(({ path }) => !path.includes('/sandbox/'));
    expect([asked?.path, paid?.path]).toEqual(Array(2).fill('/api/v1/gateway/listing-1'));
    expect(joined).toMatchObject({
      path: '/api/v1/gateway-requests/request-1/content',
      headers: { accept: 'text/event-stream', 'last-event-id': '1' },
    });

    gateway.cuts.push(2);
    const keyless = new Marketplace({ baseUrl: gateway.baseUrl, clock: new TestClock() });
    const stream = await keyless.stream('listing-1', { text: 'a' }, { relayRequestId: 'relay-1' });
    expect(await allOf(stream)).toEqual(EVENTS);
    const [first, again, ...more] = gateway.seen.slice(4);
    expect([again?.path, again?.body, again?.headers, more]).toEqual([first?.path, first?.body, first?.headers, []]);
  });

  it('says that it began anew, for what was read belongs to no answer then', async () => {
    gateway.cuts.push(1);
    const stream = await open();
    const events = stream[Symbol.asyncIterator]();
    expect((await events.next()).value).toEqual(EVENTS[0]);
    gateway.attempt = 2;
    await expect(events.next()).rejects.toMatchObject({ code: 'STREAM_RESTARTED', relayRequestId: 'relay-1' });
    await expect(stream.result()).rejects.toMatchObject({ code: 'ABORTED' });
    expect(await allOf(await open({ relayRequestId: 'relay-1' }))).toEqual(EVENTS);
    expect(gateway.payments).toEqual(['relay-1']);
  });

  it('gives up where it cannot be joined in the time given to it', async () => {
    gateway.cuts.push(1, ...Array<number>(100).fill(0));
    const stream = await open({ timeoutMs: 20_000 });
    const events = stream[Symbol.asyncIterator]();
    await events.next();
    await expect(events.next()).rejects.toMatchObject({ code: 'NETWORK_ERROR', relayRequestId: 'relay-1' });
  });

  it('is cancelled by its signal, and hung up by who leaves the loop', async () => {
    gateway.cuts.push(Infinity, Infinity);
    const cancelled = new AbortController();
    const stream = await open({ signal: cancelled.signal });
    await expect(
      (async () => {
        for await (const { id } of stream) if (id === null) cancelled.abort();
      })(),
    ).rejects.toMatchObject({ code: 'ABORTED', relayRequestId: 'relay-1' });

    const left = await open();
    for await (const _ of left) break;
    await expect(left.result()).rejects.toMatchObject({ code: 'ABORTED' });
    while (gateway.hungUp < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  it('has no event where the seller failed, or answered with something else', async () => {
    gateway.sellerFailures = 1;
    const failed = await open();
    expect([await allOf(failed), await failed.result()]).toMatchObject([[], { billable: false }]);
    gateway.events = undefined;
    const plain = await open();
    expect([await allOf(plain), await plain.result()]).toMatchObject([
      [],
      { billable: true, seller_response: { call: 1 } },
    ]);
  });

  it('is told from a file and from JSON', () => {
    const answer: StreamAnswer = {
      content_type: 'text/event-stream',
      size: 1,
      sha256: '0'.repeat(64),
      outcome: 'completed',
      events: [],
      content_url: null,
    };
    expect([isStream(answer), isFile(answer)]).toEqual([true, false]);
    const others = [null, 'text', {}, { ...answer, outcome: 'other' }, { ...answer, content_url: undefined }];
    expect(others.some(isStream)).toBe(false);
  });
});
