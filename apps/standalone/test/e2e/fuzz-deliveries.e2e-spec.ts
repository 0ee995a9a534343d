import { countOf, TEST_SEED } from '@market/test-servers/threats';
import type { CreatedListing } from '@market/sdk';
import fc from 'fast-check';
import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { expectBooksInOrder } from '../support/books.js';
import { fetchAs, payFor, withRelayId } from '../support/buyer.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { jobServer, type JobServer, type TakenJob } from '../support/job-server.js';
import { listServer, rogueServer, type RogueServer } from '../support/seller.js';

const MAX_DELIVERIES = 12;

const words = fc.record(
  {
    percent: fc.oneof(fc.integer({ min: -5, max: 105 }), fc.double(), fc.constant('40')),
    message: fc.oneof(fc.string({ maxLength: 220 }), fc.constant(null)),
    reason: fc.string({ maxLength: 520 }),
    more: fc.jsonValue(),
  },
  { requiredKeys: [] },
);
const delivery = fc.record({
  kind: fc.constantFrom('result', 'progress', 'failed'),
  body: fc.oneof(
    words.map((value) => Buffer.from(JSON.stringify(value))),
    fc.json().map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom('', '{"a":', '[]', '{"a":1,"a":2}', '['.repeat(3_000), 'x'.repeat(5_000), 'a,b\n')
      .map((text) => Buffer.from(text)),
  ),
  type: fc.constantFrom(
    ...['application/json', 'application/json', 'text/csv', 'text/csv;charset=x', 'image/png', ''],
    ...['text/event-stream', 'Application/JSON; a="b', 'application/problem+json', ';', 'text/csv, application/json'],
  ),
  fault: fc.constantFrom(
    ...['none', 'none', 'none', 'none', 'none', 'none', 'secret', 'kind', 'own part', 'our id', 'old', 'early'],
    ...['no signature', 'chunked', 'compressed', 'another path', 'another job'],
  ),
});
type Delivery = typeof delivery extends fc.Arbitrary<infer D> ? D : never;

/** How a delivery is answered whose fault decides that; any other fault is one of its signature. */
const STATUSES_OF_FAULT: Record<string, number[]> = {
  chunked: [411],
  compressed: [415],
  'another job': [404],
  // The body of a request for nothing is looked at first.
  'another path': [400, 404, 413, 415],
};
const UNSIGNED = [401];
const MAX_WORDS_BYTES = 4_096;

/** What a seller answers a call with, beside what it has to. */
const reply = fc.record({
  status: fc.constantFrom(200, 200, 200, 200, 200, 201, 202, 203, 204, 206, 226, 301, 304, 400, 404, 429, 500, 599),
  headers: fc.record(
    {
      'content-type': fc.constantFrom<string | string[]>(
        ...['text/event-stream', 'text/event-stream', 'application/x-ndjson', 'application/json', 'text/csv'],
        ...['image/png', 'text/html', '', ';;', 'a'.repeat(300), 'text/csv\u00e9', 'TEXT/CSV ; charset="'],
        ['text/csv', 'application/json'],
      ),
      'x-market-job': fc.constantFrom('accepted', 'ACCEPTED', 'no'),
      'content-encoding': fc.constantFrom('gzip', 'identity', 'br, gzip'),
      'retry-after': fc.constantFrom('1', '-1', 'soon', '9'.repeat(40)),
      'content-disposition': fc.constant('inline; filename="../../etc/passwd"'),
      'set-cookie': fc.constant('market_session=stolen'),
      'x-market-billable': fc.constant('false'),
      'access-control-allow-origin': fc.constant('*'),
    },
    { requiredKeys: [] },
  ),
  framing: fc.constantFrom('length', 'chunked', 'chunked', 'cut', 'closed'),
  body: fc
    .array(
      fc.oneof(
        fc.constantFrom(
          ...[
            'data: 1\n\n',
            'event: a\r\ndata: {"x":1}\r\n\r\n',
            ': comment\n\n',
            'id: \0\n',
            'retry: 1\n',
            '\r',
            '\n',
          ],
          ...[
            'event: market.result\ndata: {"billable":true}\n\n',
            'event:MARKET.open\ndata: 1\n\n',
            '\ufeff',
            'data\n\n',
          ],
          ...['{"a":1,\revent: market.result\rdata: {}}\n', '{"n":1}\n', '{"status_url":"http://127.0.0.1:1/x"}'],
          ...['{"estimated_seconds":1e99}', 'a,b\n', '"', 'x'.repeat(70_000)],
        ),
        fc.uint8Array({ maxLength: 16 }),
        fc.json(),
      ),
      { maxLength: 6 },
    )
    .map((parts) => Buffer.concat(parts.map((part) => Buffer.from(part as string)))),
});
type Reply = typeof reply extends fc.Arbitrary<infer R> ? R : never;

inEachMode('what sellers send', (harness) => {
  let [seller, buyer]: Agent[] = [];
  let jobs: JobServer;
  let listing: CreatedListing;
  let rogue: RogueServer;
  let answer: (response: ServerResponse) => void;
  let calls = 0;

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    jobs = await jobServer();
    listing = await listServer(seller, jobs.url, { delivery_type: 'webhook', formats: ['json', 'csv'] });
    jobs.secret = listing.gateway_signing_secret!;
    rogue = await rogueServer((_request, response) => answer(response));
  });
  afterAll(async () => {
    await Promise.all([jobs.close(), rogue.close()]);
    await expectBooksInOrder(harness);
  });

  /** A call that is paid; each request for it is the same but for `headers`. */
  const paid = async ({ id }: CreatedListing): Promise<(headers?: Record<string, string>) => Promise<Response>> => {
    const sent = { call: (calls += 1) };
    const relay = withRelayId(await payFor(buyer!, { id }, sent));
    return (headers = {}) => fetchAs(buyer!, harness.baseUrl, 'POST', `/gateway/${id}`, { ...relay, ...headers }, sent);
  };
  /** What an answer says; it is none of a fault of the marketplace, and tells no secret. */
  const textOf = async (response: Response): Promise<string> => {
    const text = await response.text();
    expect([response.status, text].join(' ')).toMatch(/^[234]/);
    expect(text).not.toMatch(/whsec_|INTERNAL_ERROR|node_modules/);
    return text;
  };

  function send(job: TakenJob, { kind, body, type, fault }: Delivery): Promise<Response> {
    const { requestId } = job;
    const off = fault === 'old' ? -400 : fault === 'early' ? 400 : 0;
    const signedKind = fault === 'kind' ? (kind === 'result' ? 'progress' : 'result') : kind;
    const id = fault === 'our id' ? requestId : `${requestId}-${signedKind}-${fault === 'own part' ? 'a-b' : 'Z9'}`;
    const timestamp = String(Math.floor(Date.now() / 1_000) + off);
    const secret = fault === 'secret' ? 'bm90IHRoaXMgb25l' : jobs.secret.replace('whsec_', '');
    const mac = createHmac('sha256', Buffer.from(secret, 'base64')).update(`${id}.${timestamp}.`).update(body);
    const unknown = `${requestId.slice(0, -12)}${'0'.repeat(12)}`;
    const url = fault === 'another job' ? job.url.replace(requestId, unknown) : job.url;
    return fetch(`${url}/${fault === 'another path' ? 'answer' : kind}`, {
      method: 'POST',
      body: fault === 'chunked' ? new Blob([new Uint8Array(body)]).stream() : new Uint8Array(body),
      headers: {
        'content-type': type,
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        ...(fault !== 'no signature' && { 'webhook-signature': `v1,AAAA v1,${mac.digest('base64')}` }),
        ...(fault === 'compressed' && { 'content-encoding': 'gzip' }),
      },
      ...(fault === 'chunked' && ({ duplex: 'half' } as object)),
    });
  }

  /** The statuses with which a delivery without a fault may be answered. */
  function statusesFor({ kind, body, type }: Delivery, isOpen: boolean, isSame: boolean): number[] {
    if (kind !== 'result') {
      if (body.length > MAX_WORDS_BYTES) return [413];
      if (!isObject(body)) return [400];
      return isOpen ? (kind === 'progress' ? [200, 400, 429] : [200, 400]) : [400, 409];
    }
    if (!isOpen) return [isSame ? 200 : 409];
    const isJson = /^(|application\/(.+\+)?json\b.*)$/i.test(type);
    if (body.length === 0) return [400];
    if (isJson) return isParsed(body) ? [200, 400] : [400];
    return [/^text\/csv(;|$)/.test(type) ? 200 : 400];
  }

  it(
    'for a job counts once, is refused where it is wrong, and is never a fault of the marketplace',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(delivery, { minLength: 1, maxLength: MAX_DELIVERIES }), async (deliveries) => {
          const ask = await paid(listing);
          const { data } = JSON.parse(await textOf(await ask())) as { data: { request_id: string } };
          const job = jobs.taken.find(({ requestId }) => requestId === data.request_id)!;
          let state: 'open' | 'delivered' | 'failed' = 'open';
          let first: Delivery | undefined;
          for (const made of deliveries) {
            // Without a body fetch sends a length.
            const sent = made.fault === 'chunked' && made.body.length === 0 ? { ...made, fault: 'none' } : made;
            const isSame = first !== undefined && first.body.equals(sent.body) && first.type === sent.type;
            const expected =
              sent.fault === 'none'
                ? statusesFor(sent, state === 'open', isSame)
                : (STATUSES_OF_FAULT[sent.fault] ?? UNSIGNED);
            const response = await send(job, sent);
            const text = await textOf(response);
            // Bodies that are too large for words are so whatever else is wrong, and the same answer has many names.
            const isTooLarge = sent.kind !== 'result' && sent.body.length > MAX_WORDS_BYTES && response.status === 413;
            const isRepeated = state === 'delivered' && sent.kind === 'result' && response.status === 200;
            if (!isTooLarge && !(isRepeated && first!.body.equals(sent.body)))
              expect({ ...sent, body: sent.body.toString('base64'), state, text, statuses: expected }).toEqual(
                expect.objectContaining({ statuses: expect.arrayContaining([response.status]) as unknown }),
              );
            const { success, error } = JSON.parse(text) as { success: boolean; error?: { code: string } };
            expect([success, typeof error?.code]).toEqual(response.ok ? [true, 'undefined'] : [false, 'string']);
            if (response.ok && sent.kind === 'result' && state === 'open') [state, first] = ['delivered', sent];
            if (response.ok && sent.kind === 'failed') state = 'failed';
          }
          const asked = await ask();
          const outcome = JSON.parse(await textOf(asked)) as { data: { billable?: boolean; charged_amount?: object } };
          expect([state, asked.status, outcome.data.billable]).toEqual(
            { open: ['open', 202, undefined], delivered: ['delivered', 200, true], failed: ['failed', 200, false] }[
              state
            ],
          );
          const calledWith = jobs.taken.filter(({ requestId }) => requestId === job.requestId);
          expect(calledWith).toHaveLength(1);
          if (state !== 'delivered') return;
          expect(outcome.data.charged_amount).toMatchObject({ amount_cents: 25 });
          const path = `/gateway-requests/${job.requestId}/content`;
          const content = await fetchAs(buyer!, harness.baseUrl, 'GET', path);
          expect(Buffer.from(await content.arrayBuffer()).equals(first!.body)).toBe(true);
        }),
        { seed: TEST_SEED, numRuns: countOf('deliveries'), endOnFailure: true },
      );
    },
    300_000 + countOf('deliveries') * 2_000,
  );

  function answerWith(response: ServerResponse, { status, headers, framing, body }: Reply): void {
    const length = framing === 'length' ? body.length : framing === 'cut' ? body.length + 9 : undefined;
    response.shouldKeepAlive = framing !== 'closed';
    if (framing === 'closed') response.useChunkedEncodingByDefault = false;
    try {
      response.writeHead(status, { ...headers, ...(length !== undefined && { 'content-length': length }) } as never);
    } catch {
      // Node.js sends no such header.
      response.writeHead(status);
    }
    if (framing !== 'cut') return void response.end(body);
    response.write(body);
    setTimeout(() => response.destroy(), 20);
  }

  it(
    'as an answer is delivered or not, is charged at most once, and is never a fault of the marketplace',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          reply,
          fc.constantFrom(
            '',
            '*/*',
            'text/event-stream',
            'application/octet-stream',
            'text/csv, application/json;q=0.1',
          ),
          async (given, accept) => {
            // A seller that fails often is called no more, so each answer is of another listing.
            const shop = await listServer(seller!, rogue.url, { formats: ['json', 'csv', 'png', 'sse', 'ndjson'] });
            let forwarded = 0;
            answer = (response) => {
              forwarded += 1;
              answerWith(response, given);
            };
            const ask = await paid(shop);
            const headers: Record<string, string> = accept === '' ? {} : { accept };
            const [first, second] = [await ask(headers), await ask(headers)];
            const [text, again] = [await textOf(first), await textOf(second)];
            expect([200, 202]).toContain(first.status);
            for (const name of ['set-cookie', 'access-control-allow-origin', 'content-encoding'])
              expect([name, first.headers.get(name)]).toEqual([name, null]);
            expect(first.headers.get('content-disposition') ?? '').not.toContain('passwd');
            const billable = first.headers.get('x-market-billable') ?? /"billable":(true|false)/.exec(text)?.[1];
            if (first.status === 200) expect(['true', 'false']).toContain(billable);
            if (/^text\/event-stream/.test(first.headers.get('content-type') ?? '')) {
              expect(text).toMatch(/^event: market\.open\n[^]*\nevent: market\.result\nid: market\.end\ndata: .*\n\n$/);
              expect(text.match(/^event: *market\./gim)).toHaveLength(2);
            }
            // What was charged or is being done is not done again.
            if (billable === 'true' || first.status === 202) expect(forwarded).toBe(1);
            if (billable === 'true') expect(again).toBe(text);
            await seller!.market.listings.remove(shop);
          },
        ),
        { seed: TEST_SEED, numRuns: countOf('answers'), endOnFailure: true },
      );
    },
    300_000 + countOf('answers') * 1_000,
  );
});

function isParsed(bytes: Buffer): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
}

/** Words that are left out are none. */
const isObject = (bytes: Buffer): boolean =>
  bytes.length === 0 || (isParsed(bytes) && /^\s*\{/.test(bytes.toString('utf8')));
