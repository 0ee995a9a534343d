import type { CreatedListing } from '@market/sdk';
import { file, job as jobOf, reply, used } from '@market/sdk/seller';
import { eventually } from '@market/testing';
import { expectBooksInOrder } from '../support/books.js';
import { callOnce, fetchAs, payFor, quote, reasonOf, resultOf, withRelayId } from '../support/buyer.js';
import { EventReader } from '../support/event-reader.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { jobServer, type JobServer } from '../support/job-server.js';
import { listServer, openShop, rogueServer, type Shop } from '../support/seller.js';
import { jsonPost, mppClient, payingFetch, payingUpto } from '../support/stock-client.js';

/** A thousand tokens cost a cent, beyond ten thousand half a cent. */
const usage = {
  unit: 'token',
  per: 1_000,
  tiers: [
    { up_to: 10_000, price: 0.01 },
    { up_to: null, price: 0.005 },
  ],
};
const PRICED = { pricing_amount: 0.4, usage, formats: ['json', 'csv', 'sse'] };

interface Body {
  units?: number | string;
  file?: true;
  n?: unknown;
}

inEachMode('a call that costs what it uses', (harness) => {
  let [seller, buyer]: Agent[] = [];
  let shop: Shop;

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    shop = await openShop(
      seller!,
      ({ body }) => {
        const { units, file: wantsFile } = body as Body;
        const answer = wantsFile ? file(Buffer.from('a,b'), 'text/csv') : { echo: body };
        if (typeof units === 'number') return used(units, answer);
        if (typeof units === 'string')
          return new Response('{}', { headers: { 'content-type': 'application/json', 'x-market-units': units } });
        return answer;
      },
      PRICED,
    );
  });
  afterAll(async () => {
    await expectBooksInOrder(harness);
    await shop.close();
  });

  const bought = async (body: Body, listing: { id: string } = shop.listing) => {
    const relay = withRelayId(await payFor(buyer!, listing, body));
    return { relay, answer: await callOnce(buyer!, listing, body, relay) };
  };
  const historyOf = async (id: string): Promise<Record<string, unknown>> =>
    (
      (await (await fetchAs(buyer!, harness.baseUrl, 'GET', `/gateway-requests/${id}`)).json()) as {
        data: Record<string, unknown>;
      }
    ).data;
  const owed = async (): Promise<unknown[]> =>
    (await buyer!.market.refunds.list({ role: 'buyer' })).data.map(({ reason, amount }) => [reason, amount.usd]);

  it('is shown, searched and asked for at the most that it costs, with its tiers', async () => {
    const shown = await buyer!.market.listings.get(shop.listing.id);
    expect(shown).toMatchObject({ pricing_model: 'per_call', pricing_amount: 0.4, usage });
    expect(await quote(buyer!, shop.listing, { n: 'asked' })).toMatchObject({
      requirements: { amount: '0.4' },
      fees: { gross_amount: 0.4 },
      usage,
      x402: {
        accepts: [
          { scheme: 'upto', amount: '400000' },
          { scheme: 'exact', amount: '400000' },
        ],
      },
    });
  });

  it('is charged what it used of what was paid before; the rest is owed back, and both are shown', async () => {
    const { relay, answer } = await bought({ units: 12_000, n: 'prepaid' });
    expect(resultOf(answer)).toMatchObject({
      billable: true,
      charged_amount: { amount_cents: 11 },
      fees: { fee_amount_cents: 0.55, seller_receives_cents: 10.45 },
      usage: { unit: 'token', units: 12_000 },
    });
    expect((await callOnce(buyer!, shop.listing, { units: 12_000, n: 'prepaid' }, relay)).text).toBe(answer.text);
    expect(await owed()).toContainEqual(['unused', 0.29]);
    const [receipt] = (await buyer!.market.receipts.list({ role: 'buyer' })).data;
    expect(receipt).toMatchObject({ gross_amount: 0.11, usage: { unit: 'token', units: 12_000 } });
    const month = receipt!.created_at.slice(0, 7);
    const statement = await (await fetchAs(seller!, harness.baseUrl, 'GET', `/statements/${month}`)).json();
    expect(JSON.stringify(statement)).toContain('"usage":{"unit":"token","units":12000}');
    await eventually(async () =>
      expect(await historyOf(resultOf(answer).request_id)).toMatchObject({
        status: 'succeeded',
        charged_amount: { amount_cents: 11 },
        usage: { unit: 'token', units: 12_000 },
        refund: null,
      }),
    );
  });

  it('costs no more than the most, and a file by what its header says', async () => {
    expect(resultOf((await bought({ units: 10 ** 12, file: true })).answer)).toMatchObject({
      charged_amount: { amount_cents: 40 },
      usage: { units: 10 ** 12 },
      seller_response: { content_type: 'text/csv' },
    });
  });

  it('costs nothing where nothing was used: it is answered, and all is owed back', async () => {
    const { relay, answer } = await bought({ units: 0, n: 'free' });
    expect(resultOf(answer)).toMatchObject({
      billable: true,
      charged_amount: { amount_cents: 0 },
      usage: { units: 0 },
      seller_response: { echo: { units: 0, n: 'free' } },
    });
    const calls = shop.requests.length;
    expect((await callOnce(buyer!, shop.listing, { units: 0, n: 'free' }, relay)).text).toBe(answer.text);
    expect(shop.requests).toHaveLength(calls);
    expect(await owed()).toContainEqual(['unused', 0.4]);
    await eventually(async () =>
      expect(await historyOf(resultOf(answer).request_id)).toMatchObject({ status: 'succeeded', usage: { units: 0 } }),
    );
  });

  it.each([undefined, '', '-1', '1.5', '1e3', '0x10', '9999999999999999', 'seven'])(
    'is not charged where its seller says %j units, and can be tried again',
    async (units) => {
      const { answer } = await bought({ units, n: `wrong ${units}` });
      expect(resultOf(answer)).toMatchObject({
        billable: false,
        charged_amount: { amount_cents: 0 },
        seller_response: null,
        error: { reason: 'units_missing' },
        recovery: { next_action: 'retry_same_request' },
      });
    },
  );

  it.each(['a key', 'no key'])(
    'is paid by a stock client of upto with %s, which signs the most and pays what was used',
    async (key) => {
      const url = `${harness.baseUrl}/api/v1/${key === 'a key' ? 'gateway' : 'x402'}/${shop.listing.slug}`;
      const headers: Record<string, string> =
        key === 'a key' ? { authorization: buyer!.registration.authorization_header } : {};
      const response = await payingUpto()(url, jsonPost({ units: 3_000, n: key }, headers));
      expect([response.status, await response.json()]).toMatchObject([
        200,
        { data: { charged_amount: { amount_cents: 3 }, usage: { units: 3_000 } } },
      ]);
      const settled = JSON.parse(Buffer.from(response.headers.get('payment-response')!, 'base64').toString()) as object;
      expect(settled).toMatchObject({ success: true, amount: '30000' });
      const free = await payingUpto()(url, jsonPost({ units: 0, n: key }, headers));
      expect(await free.json()).toMatchObject({ data: { billable: true, charged_amount: { amount_cents: 0 } } });
      expect(free.headers.get('payment-response')).toBeNull();
    },
  );

  it('is paid by a stock client of exact, which pays the most and is owed the rest', async () => {
    const response = await payingFetch()(
      `${harness.baseUrl}/api/v1/gateway/${shop.listing.slug}`,
      jsonPost({ units: 3_000, n: 'exact' }, { authorization: buyer!.registration.authorization_header }),
    );
    expect(await response.json()).toMatchObject({ data: { charged_amount: { amount_cents: 3 } } });
    expect(await owed()).toContainEqual(['unused', 0.37]);
  });

  it('is paid once by a signature of upto that comes again, at once and later', async () => {
    const proofs: string[] = [];
    const url = `${harness.baseUrl}/api/v1/x402/${shop.listing.slug}`;
    const body = { units: 3_000, n: 'again' };
    const noting: typeof fetch = (input, init) => {
      const request = new Request(input, init);
      const proof = request.headers.get('payment-signature');
      if (proof) proofs.push(proof);
      return fetch(request);
    };
    const first = await (await payingUpto(undefined, noting)(url, jsonPost(body))).text();
    const again = await Promise.all(
      Array.from({ length: 8 }, () => fetch(url, jsonPost(body, { 'payment-signature': proofs[0]! }))),
    );
    expect(await Promise.all(again.map((answer) => answer.text()))).toEqual(Array(8).fill(first));
    expect(shop.requests.filter(({ body: sent }) => (sent as Body).n === 'again')).toHaveLength(1);
    // For another body the same signature pays nothing.
    const other = await fetch(url, jsonPost({ ...body, n: 'other' }, { 'payment-signature': proofs[0]! }));
    expect(other.status).toBe(409);
  });

  it('is not charged where its seller fails, and what was signed by upto is good for the next try', async () => {
    let failing = true;
    const faltering = await openShop(seller!, () => (failing ? reply(503, {}) : used(3_000, { done: true })), PRICED);
    const url = `${harness.baseUrl}/api/v1/x402/${faltering.listing.slug}`;
    const proofs: string[] = [];
    const noting: typeof fetch = (input, init) => {
      const request = new Request(input, init);
      proofs.push(request.headers.get('payment-signature') ?? '');
      return fetch(request);
    };
    const failed = await payingUpto(undefined, noting)(url, jsonPost({}));
    expect(await failed.json()).toMatchObject({ data: { billable: false, charged_amount: { amount_cents: 0 } } });
    failing = false;
    const done = await fetch(url, jsonPost({}, { 'payment-signature': proofs.at(-1)! }));
    expect(await done.json()).toMatchObject({ data: { billable: true, charged_amount: { amount_cents: 3 } } });
    await faltering.close();
  });

  it('is paid by a stock client of MPP, which pays the most and is owed the rest', async () => {
    const url = `${harness.baseUrl}/api/v1/gateway/${shop.listing.slug}`;
    const key = { 'x-api-key': buyer!.registration.authorization_header.replace('Bearer ', '') };
    const answer = await mppClient().fetch(url, jsonPost({ units: 9_000, n: 'mpp' }, key));
    expect(await answer.json()).toMatchObject({ data: { charged_amount: { amount_cents: 9 } } });
    expect(await owed()).toContainEqual(['unused', 0.31]);
  });

  it.each([
    ['prepaid', 'data: {"units": 4000, "done": true}\n\n', { billable: true, charged_amount: { amount_cents: 4 } }],
    ['upto', 'data: {"units": 4000, "done": true}\n\n', { billable: true, charged_amount: { amount_cents: 4 } }],
    [
      'prepaid',
      'data: [DONE]\n\n',
      { billable: false, error: { reason: 'units_missing' }, refund: { status: 'refund_due' } },
    ],
    ['upto', 'data: {"units": -4}\n\n', { billable: false, error: { reason: 'units_missing' } }],
  ])('is a stream, paid %s, that ends with %j', async (how, last, expected) => {
    const server = await rogueServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"units": 1}\n\n');
      response.end(last);
    });
    const listing = await listServer(seller!, server.url, PRICED);
    const headers = { accept: 'text/event-stream', authorization: buyer!.registration.authorization_header };
    const url = `${harness.baseUrl}/api/v1/gateway/${listing.id}`;
    const relay = how === 'prepaid' ? withRelayId(await payFor(buyer!, listing, { how })) : {};
    const asked = how === 'prepaid' ? fetch : payingUpto();
    const reader = await EventReader.open(asked(url, jsonPost({ how }, { ...headers, ...relay })));
    await reader.until((each) => each.result !== undefined);
    expect(reader.result).toMatchObject(expected);
    await server.close();
  });

  describe('as a job', () => {
    let server: JobServer;
    let listing: CreatedListing;
    beforeAll(async () => {
      server = await jobServer();
      listing = await listServer(seller!, server.url, { ...PRICED, delivery_type: 'webhook' });
      server.secret = listing.gateway_signing_secret!;
    });
    afterAll(() => server.close());

    it('is charged what its SDK signs', async () => {
      const priced = { ...PRICED, delivery_type: 'webhook' } as const;
      const working = await openShop(seller!, () => jobOf(() => used(5_000, { done: true })), priced);
      const { relay, answer } = await bought({ n: 'sdk' }, working.listing);
      expect(answer.status).toBe(202);
      await eventually(async () => {
        const again = await callOnce(buyer!, working.listing, { n: 'sdk' }, relay);
        expect(resultOf(again)).toMatchObject({ charged_amount: { amount_cents: 5 }, usage: { units: 5_000 } });
      });
      await working.close();
    });

    it.each(['prepaid', 'upto'])('is charged what its delivery says, paid %s', async (how) => {
      const headers = { authorization: buyer!.registration.authorization_header };
      const url = `${harness.baseUrl}/api/v1/gateway/${listing.id}`;
      const relay = how === 'prepaid' ? withRelayId(await payFor(buyer!, listing, { how })) : {};
      const taken = await (how === 'prepaid' ? fetch : payingUpto())(url, jsonPost({ how }, { ...headers, ...relay }));
      const { data } = (await taken.json()) as { data: { request_id: string; relay_request_id: string } };
      expect(taken.status).toBe(202);
      const job = server.taken.find(({ requestId }) => requestId === data.request_id)!;
      const refused = async (changes: Parameters<JobServer['deliver']>[3]): Promise<unknown> => {
        const answer = await server.deliver(job, 'result', '{"done":true}', changes);
        const { error } = (await answer.json()) as { error?: { details?: { reason?: string } } };
        return [answer.status, error?.details?.reason];
      };
      const id = `${job.requestId}-result-own`;
      // What is not signed says nothing, and neither does what was changed on its way.
      expect(await refused({ headers: { 'x-market-units': '2000' } })).toEqual([400, 'result_refused']);
      expect(await refused({ id: `${id}-2000`, headers: { 'webhook-id': `${id}-3000` } })).toEqual([
        401,
        'delivery_unsigned',
      ]);
      expect(await refused({ id, headers: { 'webhook-id': `${id}-3000` } })).toEqual([401, 'delivery_unsigned']);
      for (const units of ['-1', '1.5', 'many', '9999999999999999', ''])
        expect(await refused({ id: `${id}-${units}` })).toEqual([401, 'delivery_unsigned']);
      const delivered = await server.deliver(job, 'result', '{"done":true}', { id: `${id}-2000` });
      expect(delivered.status).toBe(200);
      await eventually(async () => {
        const answer = await callOnce(buyer!, listing, { how }, withRelayId(data.relay_request_id));
        expect(resultOf(answer)).toMatchObject({ charged_amount: { amount_cents: 2 }, usage: { units: 2_000 } });
      });
    });
  });

  it.each([
    [{ pricing_amount: 0 }, 'pricing_invalid'],
    [{ pricing_model: 'usage_tiered', private_endpoint_url: undefined }, 'pricing_invalid'],
    [{ usage: { ...usage, tiers: [] } }, undefined],
    [{ usage: { ...usage, tiers: [{ up_to: 5, price: 1 }] } }, undefined],
    [{ usage: { ...usage, tiers: [{ up_to: null, price: 0 }] } }, undefined],
    [
      {
        usage: {
          ...usage,
          tiers: [
            { up_to: 5, price: 1 },
            { up_to: 5, price: 1 },
            { up_to: null, price: 1 },
          ],
        },
      },
      undefined,
    ],
    [{ usage: { ...usage, unit: '' } }, undefined],
    [{ usage: { ...usage, per: 0 } }, undefined],
    [{ usage: { ...usage, price: 1 } }, undefined],
  ])('is refused where its price does not hold together: %j', async (changes, reason) => {
    const answer = await seller!.market.send('PATCH', `/listings/${shop.listing.id}`, {
      rawBody: JSON.stringify(changes),
    });
    expect([answer.status, reasonOf(answer)]).toEqual([400, reason ?? expect.any(String)]);
  });
});
