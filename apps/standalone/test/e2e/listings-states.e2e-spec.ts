import { type HttpAnswer, type ListingDetail, type ListingStatus } from '@market/sdk';
import { reply } from '@market/sdk/seller';
import { eventually, withClient } from '@market/testing';
import { admin, operatorsEnv } from '../support/admin.js';
import { bodyOf, callOnce, payFor, reasonOf, withRelayId } from '../support/buyer.js';
import { attemptListing, free, perCall } from '../support/listings.js';
import { openShop } from '../support/seller.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';

inEachMode('the state of a listing', (harness) => {
  let seller: Agent;
  let other: Agent;
  const anyone = stranger(harness);

  beforeAll(async () => {
    [seller, other] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
  });

  const operate = (...words: string[]) => admin(operatorsEnv(harness), ...words);
  const patch = (agent: Agent, id: string, status: string) =>
    agent.market.send('PATCH', `/listings/${id}`, { body: { status } });
  const remove = (agent: Agent, id: string) => agent.market.send('DELETE', `/listings/${id}`);
  const statusOf = async (id: string): Promise<ListingStatus> => (await seller.market.listings.get(id)).status;
  /** Caches are at most a second old. */
  const soon = (check: () => Promise<void>) => eventually(check, { withinMs: 20_000 });

  it('is active from the first, or draft if its seller says so [spec: listing-state.none-to-draft-or-active, POST /listings]', async () => {
    for (const [status, expected] of [
      [undefined, 'active'],
      ['active', 'active'],
      ['draft', 'draft'],
    ]) {
      const answer = await attemptListing(seller, free({ name: 'Newly made', status: status as 'draft' }));
      expect(answer.status).toBe(201);
      const created = bodyOf(answer).data as ListingDetail;
      expect(created).toEqual({
        id: expect.any(String) as string,
        name: 'Newly made',
        slug: expect.stringMatching(/^newly-made/) as string,
        provider_id: seller.id,
        status: expected,
        pricing_model: 'free',
        pricing_amount: 0,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
      });
      expect(await statusOf(created.id)).toBe(expected);
    }
    expect((await anyone.send('POST', '/listings', { body: free() })).status).toBe(401);
    const keyOf = async (scopes: ('read' | 'subscribe')[]) =>
      (await seller.market.apiKeys.create({ name: 'few rights', scopes })).key;
    const weak = await seller.market
      .authorizedBy(`Bearer ${await keyOf(['read', 'subscribe'])}`)
      .send('POST', '/listings', { body: free() });
    expect(weak).toMatchObject({
      status: 403,
      json: { error: { code: 'FORBIDDEN', details: { required_scope: 'write' } } },
    });
  });

  it(
    'goes from draft to active, and back, by a PATCH of its owner ' +
      '[spec: listing-state.draft-to-active, listing-state.active-to-draft, PATCH /listings/{listingId}]',
    async () => {
      const { id, slug } = await seller.market.listings.create(free({ status: 'draft' }));
      for (const status of ['active', 'draft', 'draft', 'active', 'active']) {
        expect(await patch(seller, id, status)).toMatchObject({
          status: 200,
          json: { success: true, data: { id, slug, status } },
        });
        expect((await anyone.send('GET', `/listings/${id}`)).status).toBe(status === 'active' ? 200 : 404);
      }
      expect(await patch(other, id, 'draft')).toMatchObject({ status: 403, json: { error: { code: 'FORBIDDEN' } } });
      expect((await anyone.send('PATCH', `/listings/${id}`, { body: { status: 'draft' } })).status).toBe(401);
      for (const status of ['suspended', 'removed', '', null])
        expect((await seller.market.send('PATCH', `/listings/${id}`, { body: { status } })).status).toBe(400);
      expect(await statusOf(id)).toBe('active');
      expect((await patch(seller, '01995bad-5c00-7000-8000-00000000dead', 'draft')).status).toBe(404);
    },
  );

  it('ends with the DELETE of a draft [spec: listing-state.draft-to-removed, DELETE /listings/{listingId}]', async () => {
    const { id, slug } = await seller.market.listings.create(free({ status: 'draft' }));
    expect((await anyone.send('DELETE', `/listings/${id}`)).status).toBe(401);
    expect((await remove(other, id)).status).toBe(404);
    expect(await remove(seller, id)).toMatchObject({ status: 200, json: { success: true, data: { deleted: true } } });
    for (const ref of [id, slug]) expect((await seller.market.send('GET', `/listings/${ref}`)).status).toBe(404);
    expect((await remove(seller, id)).status).toBe(404);
  });

  it('is suspended by the DELETE of what is active [spec: listing-state.active-to-suspended, DELETE /listings/{listingId}]', async () => {
    const { id } = await seller.market.listings.create(perCall());
    expect(await remove(other, id)).toMatchObject({ status: 403, json: { error: { code: 'FORBIDDEN' } } });
    for (let count = 0; count < 2; count += 1)
      expect(await remove(seller, id)).toMatchObject({
        status: 200,
        json: { data: { id, deleted: false, status: 'suspended' } },
      });
    expect((await anyone.send('GET', `/listings/${id}`)).status).toBe(404);
    const early = await patch(seller, id, 'active');
    expect([early.status, reasonOf(early)]).toEqual([409, 'suspended_by_owner']);
    expect(await patch(seller, id, 'draft')).toMatchObject({ status: 200, json: { data: { status: 'draft' } } });
    expect(await patch(seller, id, 'active')).toMatchObject({ status: 200, json: { data: { status: 'active' } } });
    await patch(seller, id, 'draft');
    expect(await remove(seller, id)).toMatchObject({ json: { data: { deleted: true } } });
  });

  describe('hides the listing from others', () => {
    const requests: [string, (agent: Agent, ref: { id: string; slug: string }) => Promise<HttpAnswer>][] = [
      ['GET by id', (agent, { id }) => agent.market.send('GET', `/listings/${id}`)],
      ['GET by slug', (agent, { slug }) => agent.market.send('GET', `/listings/${slug}`)],
      ['PATCH', (agent, { id }) => patch(agent, id, 'active')],
      ['DELETE', (agent, { id }) => remove(agent, id)],
      ['a call by id', (agent, { id }) => agent.market.send('POST', `/gateway/${id}`, { body: {} })],
      ['GET endpoint', (agent, { id }) => agent.market.send('GET', `/listings/${id}/endpoint`)],
      [
        'PUT endpoint',
        (agent, { id }) => agent.market.send('PUT', `/listings/${id}/endpoint`, { body: { timeout_ms: 5_000 } }),
      ],
      ['an endpoint test', (agent, { id }) => agent.market.send('POST', `/listings/${id}/endpoint/test`)],
      [
        'a rotation',
        (agent, { id }) => agent.market.send('POST', `/listings/${id}/endpoint/rotate-secret`, { body: {} }),
      ],
      ['a subscription', (agent, { id }) => agent.market.send('POST', '/subscribe', { body: { listing_id: id } })],
      ['a payment', (agent, { id }) => agent.market.send('POST', '/payments', { body: { listing_id: id } })],
      ['its reviews', (agent, { id }) => agent.market.send('GET', `/reviews/${id}`)],
      [
        'a review',
        (agent, { id }) =>
          agent.market.send('POST', `/reviews/${id}`, {
            body: { accuracy_rating: 5, reliability_rating: 5, value_rating: 5 },
          }),
      ],
      ['a call by slug', (agent, { slug }) => agent.market.send('POST', `/gateway/${slug}`, { body: {} })],
    ];

    it.each(['draft', 'withdrawn by its owner', 'suspended by an operator'])('while it is %s', async (state) => {
      const listing = await seller.market.listings.create(
        perCall({ name: `Hidden while ${state}`, status: state === 'draft' ? 'draft' : 'active' }),
      );
      if (state.startsWith('withdrawn')) await remove(seller, listing.id);
      if (state.startsWith('suspended'))
        expect((await operate('listing', 'suspend', listing.id, '--reason', 'spam')).code).toBe(0);
      await soon(async () => {
        for (const [what, request] of requests)
          expect({ what, ...(await request(other, listing)) }).toMatchObject({
            what,
            status: 404,
            json: { error: { code: 'NOT_FOUND' } },
          });
      });
      const { data } = await anyone.listings.search({ q: `Hidden while ${state}`, limit: 100 });
      expect(data.map(({ id }) => id)).not.toContain(listing.id);
      expect(await seller.market.listings.get(listing.slug)).toMatchObject({
        id: listing.id,
        status: state === 'draft' ? 'draft' : 'suspended',
      });
    });
  });

  describe('in the hands of an operator', () => {
    it('is suspended: nothing is sold, and its owner can only withdraw it', async () => {
      const shop = await openShop(seller);
      const relayRequestId = await payFor(other, shop.listing, { paid: 'before' });
      const { id, slug } = shop.listing;
      expect(await operate('listing', 'suspend', slug, '--reason', 'sells what it copied')).toEqual({
        code: 0,
        output: `${id} (${shop.listing.name}) is suspended by operator`,
      });
      await soon(async () =>
        expect(await other.market.send('POST', `/gateway/${id}`, { body: { call: 'after' } })).toMatchObject({
          status: 404,
        }),
      );
      for (const body of [{ status: 'active' }, { status: 'draft' }, { name: 'Another name' }]) {
        const answer = await seller.market.send('PATCH', `/listings/${id}`, { body });
        expect(answer).toMatchObject({
          status: 403,
          json: {
            error: {
              code: 'FORBIDDEN',
              details: { reason: 'listing_suspended', suspended_by: 'operator' },
              recovery: { next_action: 'contact_operator' },
            },
          },
        });
      }
      expect(await statusOf(id)).toBe('suspended');

      expect(await operate('listing', 'release', id)).toMatchObject({
        code: 0,
        output: `${id} (${shop.listing.name}) is active`,
      });
      await soon(async () => expect((await anyone.send('GET', `/listings/${id}`)).status).toBe(200));
      await soon(async () =>
        expect(await callOnce(other, shop.listing, { paid: 'before' }, withRelayId(relayRequestId))).toMatchObject({
          status: 200,
          json: { data: { billable: true } },
        }),
      );
      await shop.close();
    });

    it('stays withdrawn when its owner deleted it meanwhile', async () => {
      const { id } = await seller.market.listings.create(free());
      await operate('listing', 'suspend', id, '--reason', 'under review');
      expect(await remove(seller, id)).toMatchObject({ json: { data: { deleted: false, status: 'suspended' } } });
      expect((await operate('listing', 'release', id)).output).toMatch('is suspended by owner');
      expect((await anyone.send('GET', `/listings/${id}`)).status).toBe(404);
      await patch(seller, id, 'draft');
      expect(await patch(seller, id, 'active')).toMatchObject({ status: 200 });
    });
  });

  it('is suspended by the system while its endpoint fails too long, and left by a passing endpoint test', async () => {
    let broken = false;
    const shop = await openShop(seller, ({ body }) => (broken ? reply(500, { failed: true }) : { echo: body }));
    const { id } = shop.listing;
    expect(await seller.market.endpoint.test(id)).toMatchObject({ success: true });
    broken = true;
    expect(await seller.market.endpoint.test(id)).toMatchObject({ success: false });
    expect((await seller.market.endpoint.get(id)).status).toBe('failing');
    // Simulates a day of failing by PostgreSQL's clock.
    await soon(async () => {
      const { rowCount } = await withClient(harness.databaseUrl, (client) =>
        client.query(
          `UPDATE catalog.endpoints SET failing_since = failing_since - interval '2 days'
           WHERE listing_id = $1 AND failing_since > now() - interval '1 day'`,
          [id],
        ),
      );
      expect(rowCount).toBe(1);
    });
    await soon(async () => expect(await statusOf(id)).toBe('suspended'));
    expect((await anyone.send('GET', `/listings/${id}`)).status).toBe(404);
    const answer = await patch(seller, id, 'active');
    expect(answer).toMatchObject({
      status: 403,
      json: { error: { details: { reason: 'listing_suspended', suspended_by: 'system' } } },
    });
    broken = false;
    expect(await seller.market.endpoint.test(id)).toMatchObject({ success: true });
    await soon(async () => expect(await statusOf(id)).toBe('active'));
    expect((await anyone.send('GET', `/listings/${id}`)).status).toBe(200);
    await shop.close();
  });
});
