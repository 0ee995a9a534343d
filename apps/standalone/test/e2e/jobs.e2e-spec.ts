import { evmWallet, Marketplace, x402Payer, type CreatedListing } from '@market/sdk';
import { eventually } from '@market/testing';
import { fetchAs, payFor, withRelayId } from '../support/buyer.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { jobServer, type JobServer, type TakenJob } from '../support/job-server.js';
import { listServer, rogueServer } from '../support/seller.js';

interface Working {
  request_id: string;
  status: string;
  deadline: string;
  [more: string]: unknown;
}

inEachMode('answers that are jobs', (harness) => {
  let [seller, buyer]: Agent[] = [];
  let server: JobServer;
  let listing: CreatedListing;

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    server = await jobServer();
    listing = await listServer(seller, server.url, { delivery_type: 'webhook', formats: ['json', 'csv'] });
    server.secret = listing.gateway_signing_secret!;
  });
  afterAll(() => server.close());

  const send = (method: string, path: string, headers: Record<string, string> = {}, body?: object, agent = buyer!) =>
    fetchAs(agent, harness.baseUrl, method, path, headers, body);
  let calls = 0;
  /** A call that is paid and taken as a job. */
  const begun = async (): Promise<{ job: TakenJob; ask: () => Promise<Response>; working: Working }> => {
    const body = { call: (calls += 1) };
    const relay = withRelayId(await payFor(buyer!, listing, body));
    const ask = () => send('POST', `/gateway/${listing.id}`, relay, body);
    const response = await ask();
    expect(response.status).toBe(202);
    const { data } = (await response.json()) as { data: Working };
    const job = server.taken.find(({ requestId }) => requestId === data.request_id)!;
    return { job, ask, working: data };
  };
  const jsonOf = async (response: Response): Promise<Record<string, unknown>> => ({
    status: response.status,
    ...((await response.json()) as object),
  });

  it('are 202 until they are delivered, and then the answer itself', async () => {
    const { job, ask, working } = await begun();
    expect(working).toEqual({
      request_id: job.requestId,
      relay_request_id: expect.stringMatching(/^0x/) as string,
      status: 'working',
      retry_after_seconds: 1,
      deadline: expect.any(String) as string,
    });
    expect(Number(job.headers['x-market-job-deadline'])).toBe(Date.parse(working.deadline) / 1_000);
    expect(job.url).toMatch(new RegExp(`^http://.*/api/v1/jobs/${job.requestId}$`));
    const again = await ask();
    expect([again.status, again.headers.get('retry-after')]).toEqual([202, '1']);

    const progress = await server.deliver(job, 'progress', '{"percent":40,"message":"page 8"}');
    expect(await jsonOf(progress)).toEqual({
      status: 200,
      success: true,
      data: { request_id: job.requestId, status: 'working' },
    });
    const row = await send('GET', `/gateway-requests/${job.requestId}`);
    expect(row.headers.get('retry-after')).toBe('1');
    expect(await jsonOf(row)).toMatchObject({
      status: 200,
      data: {
        status: 'forwarding',
        kind: 'job',
        progress: { percent: 40, message: 'page 8' },
        deadline: working.deadline,
        retry_after_seconds: 1,
      },
    });
    expect(await jsonOf(await ask())).toMatchObject({ data: { percent: 40, message: 'page 8' } });

    const text = '{ "pages": 20, "n": 9007199254740993 }';
    expect(await jsonOf(await server.deliver(job, 'result', text))).toMatchObject({ data: { status: 'delivered' } });
    const answered = await ask();
    expect([answered.status, answered.headers.get('x-market-billable')]).toEqual([200, 'true']);
    expect(await answered.text()).toContain(`"seller_response":${text}`);
    expect(await jsonOf(await server.deliver(job, 'result', text))).toMatchObject({ data: { duplicate: true } });
    expect(await jsonOf(await server.deliver(job, 'result', '{}'))).toMatchObject({
      status: 409,
      error: { details: { reason: 'job_ended' } },
    });
    expect(await jsonOf(await send('DELETE', `/gateway-requests/${job.requestId}`))).toMatchObject({
      status: 409,
      error: { details: { reason: 'not_cancellable' } },
    });
    const content = await send('GET', `/gateway-requests/${job.requestId}/content`);
    expect(await content.text()).toBe(text);
    await eventually(async () => {
      const { data } = await jsonOf(await send('GET', '/events?limit=100'));
      const about = (data as { type: string; data: object }[]).filter(({ type }) => type.startsWith('call.'));
      const ids = { request_id: job.requestId, listing_id: listing.id, kind: 'job' };
      expect(about).toMatchObject([
        { type: 'call.progress', data: { ...ids, percent: 40 } },
        { type: 'call.completed', data: ids },
      ]);
    });
  });

  it('may be a large file, which is stored as it arrives', async () => {
    const { job, ask } = await begun();
    const text = 'a,b\n'.repeat(2_000_000);
    const headers = { 'content-type': 'text/csv' };
    expect(await jsonOf(await server.deliver(job, 'result', text, { headers }))).toMatchObject({ status: 200 });
    expect(await jsonOf(await ask())).toMatchObject({
      data: { billable: true, seller_response: { content_type: 'text/csv', size: text.length } },
    });
    const range = await send('GET', `/gateway-requests/${job.requestId}/content`, { range: 'bytes=7999996-' });
    expect([range.status, await range.text()]).toEqual([206, 'a,b\n']);
  });

  it('that fail are owed back, and cancelling is the word of the seller', async () => {
    const { job, ask } = await begun();
    const stranger = await registerAgent(harness);
    const path = `/gateway-requests/${job.requestId}`;
    expect((await send('DELETE', path, {}, undefined, stranger)).status).toBe(404);
    expect(await jsonOf(await send('DELETE', path))).toEqual({
      status: 202,
      success: true,
      data: { request_id: job.requestId, status: 'cancelling', retry_after_seconds: 5 },
    });
    const cancelled = await eventually(() => {
      const found = server.taken.find(
        ({ requestId, event }) => requestId === job.requestId && event === 'gateway.cancel',
      );
      if (!found) throw new Error('the seller was not told');
      return found;
    });
    expect(JSON.parse(cancelled.body)).toEqual({ event: 'gateway.cancel', request_id: job.requestId });
    expect((await ask()).status).toBe(202);
    await server.deliver(job, 'failed', '{"reason":"cancelled by the buyer"}');
    expect(await jsonOf(await ask())).toMatchObject({
      data: {
        billable: false,
        error: { reason: 'job_failed' },
        seller_response: { reason: 'cancelled by the buyer' },
        refund: { status: 'refund_due' },
      },
    });
  });

  it('are asked for at the status_url of their seller, until they are done or denied twice', async () => {
    const replies: Record<string, number[]> = { done: [503, 302, 429, 202, 404, 202, 200], gone: [503, 410, 404] };
    const seen: string[] = [];
    const polled = await rogueServer((request, response) => {
      const work = new URL(request.url!, 'http://seller').searchParams.get('work');
      if (work === null) {
        const job = { 'x-market-job': 'accepted', 'content-type': 'application/json' };
        response.writeHead(202, job);
        // The body of the request is the answer to it.
        request.pipe(response);
        return;
      }
      seen.push(`${request.method} ${String(request.headers['x-market-event'])}`);
      const status = replies[work]!.shift() ?? 500;
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '1', location: '/?work=gone' });
      response.end('{"done":true}');
    });
    const asynchronous = await listServer(seller!, polled.url, { delivery_type: 'webhook' });
    const ends = await Promise.all(
      Object.keys(replies).map(async (work) => {
        const body = { status_url: `/any?work=${work}` };
        const relay = withRelayId(await payFor(buyer!, asynchronous, body));
        const ask = () => send('POST', `/gateway/${asynchronous.id}`, relay, body);
        expect(await jsonOf(await ask())).toMatchObject({ status: 202, data: { status: 'working' } });
        return eventually(
          async () => {
            const answer = await jsonOf(await ask());
            expect(answer.status).toBe(200);
            return answer;
          },
          { withinMs: 120_000, everyMs: 500 },
        );
      }),
    );
    expect(ends).toMatchObject([
      { data: { billable: true, seller_response: { done: true } } },
      { data: { billable: false, error: { reason: 'job_failed' }, refund: { status: 'refund_due' } } },
    ]);
    expect(replies).toEqual({ done: [], gone: [] });
    expect(new Set(seen)).toEqual(new Set(['GET gateway.job_status']));
    await polled.close();
  }, 240_000);

  it('are refused in the order that tells a stranger nothing', async () => {
    const { job } = await begun();
    const base = job.url.slice(0, -job.requestId.length);
    const refused = async (response: Promise<Response>): Promise<unknown[]> => {
      const { status, error } = await jsonOf(await response);
      return [status, (error as { details?: { reason?: string } }).details?.reason];
    };
    const unknown = '01939e9c-7f3a-7cc1-9d0e-6a2f4f0a1b2c';
    expect(await refused(server.deliver(job, 'result', '{}', { url: base + unknown }))).toEqual([404, 'job_not_found']);
    const chunked = { method: 'POST', body: new Blob(['{}']).stream(), duplex: 'half' } as RequestInit;
    expect(await refused(fetch(`${job.url}/result`, chunked))).toEqual([411, 'length_missing']);
    expect(await refused(server.deliver(job, 'progress', 'x'.repeat(5_000)))).toEqual([413, 'delivery_too_large']);
    const gzip = { headers: { 'content-encoding': 'gzip' } };
    expect(await refused(server.deliver(job, 'result', '{}', gzip))).toEqual([415, 'delivery_compressed']);
    for (const id of [job.requestId, `${job.requestId}-progress-1`, `${job.requestId}-result-`])
      expect(await refused(server.deliver(job, 'result', '{}', { id }))).toEqual([401, 'delivery_unsigned']);
    const unsigned = { headers: { 'webhook-signature': 'v1,AAAA' } };
    expect(await refused(server.deliver(job, 'result', '{}', unsigned))).toEqual([401, 'delivery_unsigned']);
    expect(await refused(server.deliver(job, 'result', '<p>', {}))).toEqual([400, 'result_refused']);
    // What the marketplace sent itself is no delivery.
    const reflected = await fetch(`${job.url}/result`, {
      method: 'POST',
      body: job.body,
      headers: Object.fromEntries(
        ['content-type', 'webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [
          name,
          String(job.headers[name]),
        ]),
      ),
    });
    expect(reflected.status).toBe(401);
    expect(await jsonOf(await server.deliver(job, 'result', '{"still":"taken"}'))).toMatchObject({ status: 200 });
  });

  it('are signed for as long as they may take, also without a key', async () => {
    await seller!.market.endpoint.update(listing, { limits: { job_deadline_seconds: 600 } as never });
    const wallet = evmWallet();
    const keyless = new Marketplace({ baseUrl: harness.baseUrl });
    const asked = await jsonOf(await fetch(`${harness.baseUrl}/api/v1/x402/${listing.slug}`));
    expect(asked).toMatchObject({
      status: 402,
      data: { payment: { settles: 'on_delivery', x402: { accepts: [{ maxTimeoutSeconds: 720 }] } } },
    });
    const body = { call: 'keyless' };
    const calling = keyless.call(listing.slug, body, { pay: x402Payer(wallet, { 'eip155:84532': {} }) });
    const job = await eventually(() => {
      const found = server.taken.find((each) => each.body === JSON.stringify(body));
      if (!found) throw new Error('the seller was not called');
      return found;
    });
    expect((await server.deliver(job, 'result', '{"done":true}')).status).toBe(200);
    expect(await calling).toMatchObject({ billable: true, seller_response: { done: true } });
    expect(server.taken.filter((each) => each.body === JSON.stringify(body))).toHaveLength(1);
  });

  it('pass the test of an endpoint, and are not delivered to it', async () => {
    const test = await seller!.market.endpoint.test(listing);
    expect(test).toMatchObject({ success: true, seller_status_code: 202 });
    expect(test.checks).toContainEqual(expect.objectContaining({ name: 'job', ok: true }));
    const job = server.taken.find(({ requestId }) => requestId === test.request_id)!;
    expect((await server.deliver(job, 'result', '{}')).status).toBe(409);
  });
});
