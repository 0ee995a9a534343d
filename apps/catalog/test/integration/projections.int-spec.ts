import type { PayloadOf, Principal } from '@market/contracts';
import { getListing, updateListing } from '@market/contracts/catalog';
import { endpointChanged } from '@market/contracts/gateway';
import { agentRegistered } from '@market/contracts/identity';
import { paymentCompleted, sellerStandingChanged, subscriptionStarted } from '@market/contracts/payments-ledger';
import { listingPopularityMeasured, listingRated } from '@market/contracts/reputation';
import { newId } from '@market/kernel';
import { eventually } from '@market/testing';
import fc from 'fast-check';
import { LIMITS, principal, startCatalog, type CatalogService } from '../support/catalog-service.js';
import { create, perCall } from '../support/listings.js';

type EndpointState = PayloadOf<typeof endpointChanged>;

describe('what others tell the catalog', () => {
  let service: CatalogService;
  beforeAll(async () => {
    service = await startCatalog({ CATALOG_FAILING_GRACE_SECONDS: '3600', CATALOG_SWEEP_INTERVAL_MS: '50' });
  });
  afterAll(() => service.stop());

  const listingOf = async (seller: Principal) => (await create(service, seller, perCall)).id;
  const endpoint = (listingId: string, version: number, values: Partial<EndpointState> = {}): EndpointState => ({
    listingId,
    sellerId: newId(),
    isFound: true,
    version,
    status: 'active',
    limits: LIMITS,
    changedAt: new Date().toISOString(),
    ...values,
  });
  const tell = (...states: EndpointState[]) =>
    service.deliver(
      endpointChanged,
      states.map((payload) => ({ payload })),
    );
  const statusOf = async (id: string) =>
    (
      await service.sql<{ status: string; suspended_by: string | null }>(
        'SELECT status, suspended_by FROM listings WHERE id = $1',
        [id],
      )
    )[0];
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

  it('takes what costs something off the market while no route can pay its seller, unless it owes fees, too', async () => {
    const seller = principal();
    const [paid, free, others] = [
      await listingOf(seller),
      (await create(service, seller, { ...perCall, pricing_amount: 0 })).id,
      await listingOf(principal()),
    ];
    const statuses = async () =>
      (await Promise.all([paid, free, others].map(statusOf))).map((listing) => listing!.status);
    service.ledger.unpayable.add(seller.accountId);
    await eventually(async () => expect(await statuses()).toEqual(['suspended', 'active', 'active']));
    expect((await create(service, seller, perCall)).status).toBe('suspended');
    service.ledger.isDown = true;
    const isOverdue = (version: number, value: boolean) =>
      service.deliver(sellerStandingChanged, [
        { payload: { sellerId: seller.accountId, version, isOverdue: value, changedAt: new Date().toISOString() } },
      ]);
    await isOverdue(1, true);
    service.ledger.unpayable.clear();
    service.ledger.isDown = false;
    const isKnown = async (): Promise<boolean> =>
      (
        await service.sql<{ is_unpayable: boolean }>('SELECT is_unpayable FROM providers WHERE id = $1', [
          seller.accountId,
        ])
      )[0]!.is_unpayable;
    await eventually(async () => expect(await isKnown()).toBe(false));
    expect(await statuses()).toEqual(['suspended', 'active', 'active']);
    await isOverdue(2, false);
    expect(await statuses()).toEqual(['active', 'active', 'active']);
  });

  describe('of sellers that owe fees', () => {
    const standing = (seller: Principal, version: number, isOverdue: boolean) =>
      service.deliver(sellerStandingChanged, [
        { payload: { sellerId: seller.accountId, version, isOverdue, changedAt: new Date().toISOString() } },
      ]);
    const ON = { status: 'active', suspended_by: null };
    const OFF = { status: 'suspended', suspended_by: 'system' };

    it('takes what costs something off the market until they have paid, in whatever order it is told', async () => {
      const seller = principal();
      const [paid, free, others] = [
        await listingOf(seller),
        (await create(service, seller, { ...perCall, pricing_amount: 0 })).id,
        await listingOf(principal()),
      ];
      await standing(seller, 1, true);
      expect([await statusOf(paid), await statusOf(free), await statusOf(others)]).toEqual([OFF, ON, ON]);
      await standing(seller, 2, false);
      expect(await statusOf(paid)).toEqual(ON);
      await standing(seller, 1, true);
      expect(await statusOf(paid)).toEqual(ON);
    });

    it('lets nothing that costs something up meanwhile: new, from draft, with a price, or with its endpoint', async () => {
      const seller = principal();
      const [draft, free, broken] = [
        (await create(service, seller, { ...perCall, status: 'draft' })).id,
        (await create(service, seller, { ...perCall, pricing_amount: 0 })).id,
        await listingOf(seller),
      ];
      await tell(endpoint(broken, 1, { status: 'failing', changedAt: hoursAgo(2) }));
      await eventually(async () => expect(await statusOf(broken)).toEqual(OFF));
      await standing(seller, 1, true);
      const created = await create(service, seller, perCall);
      expect(created.status).toBe('suspended');
      await service.ask(updateListing, { listing_id: draft, status: 'active' }, { principal: seller });
      await service.ask(updateListing, { listing_id: free, pricing_amount: 1 }, { principal: seller });
      await tell(endpoint(broken, 2, { status: 'active' }));
      const all = [created.id, draft, free, broken];
      expect(await Promise.all(all.map(statusOf))).toEqual([OFF, OFF, OFF, OFF]);
      await standing(seller, 2, false);
      expect(await Promise.all(all.map(statusOf))).toEqual([ON, ON, ON, ON]);
    });
  });

  describe('of endpoints', () => {
    it('shows the newest version, however often and in whatever order versions come', async () => {
      const statuses = ['unverified', 'active', 'paused', 'failing'] as const;
      const deliveries = fc.array(fc.record({ version: fc.integer({ min: 1, max: 8 }), batch: fc.nat({ max: 2 }) }), {
        minLength: 1,
        maxLength: 20,
      });
      await fc.assert(
        fc.asyncProperty(deliveries, async (delivered) => {
          const id = newId();
          for (const batch of [0, 1, 2])
            await tell(
              ...delivered
                .filter((event) => event.batch === batch)
                .map(({ version }) =>
                  endpoint(id, version, {
                    status: statuses[version % 4]!,
                    limits: { ...LIMITS, max_concurrency: version },
                  }),
                ),
            );
          const newest = Math.max(...delivered.map(({ version }) => version));
          expect(
            await service.sql('SELECT version, status, limits FROM endpoints WHERE listing_id = $1', [id]),
          ).toEqual([
            { version: newest, status: statuses[newest % 4], limits: { ...LIMITS, max_concurrency: newest } },
          ]);
        }),
        { numRuns: 40 },
      );
    });

    it('is not undone by the listing that is committed after its endpoint was told of', async () => {
      const seller = principal();
      service.gateway.provision = async ({ listingId }) => {
        await tell(endpoint(listingId, 2, { status: 'active' }));
        return { signingSecret: 'whsec_x', status: 'unverified', limits: LIMITS };
      };
      const id = await listingOf(seller);
      expect(await service.ask(getListing, { ref: id })).toMatchObject({ endpoint_status: 'active' });
      service.gateway.provision = () => ({ signingSecret: 'whsec_x', status: 'unverified', limits: LIMITS });
    });

    it('suspends a listing whose endpoint fails without a break for too long, and brings it back with its endpoint', async () => {
      const id = await listingOf(principal());
      await tell(endpoint(id, 1, { status: 'failing', changedAt: hoursAgo(2) }));
      await eventually(async () => expect(await statusOf(id)).toEqual({ status: 'suspended', suspended_by: 'system' }));
      await tell(endpoint(id, 2, { status: 'unverified' }));
      expect(await statusOf(id)).toEqual({ status: 'suspended', suspended_by: 'system' });
      await tell(endpoint(id, 3, { status: 'active' }));
      expect(await statusOf(id)).toEqual({ status: 'active', suspended_by: null });
      await eventually(() =>
        expect(
          service.received.changed
            .filter(({ listingId }) => listingId === id)
            .map(({ version, status }) => [version, status]),
        ).toEqual([
          [1, 'active'],
          [2, 'suspended'],
          [3, 'active'],
        ]),
      );
    });

    it('counts the time of failing from the first word of it, and from anew after each recovery', async () => {
      const [long, broken, witness] = [
        await listingOf(principal()),
        await listingOf(principal()),
        await listingOf(principal()),
      ];
      await tell(
        endpoint(long, 1, { status: 'failing', changedAt: hoursAgo(2) }),
        endpoint(broken, 1, { status: 'failing', changedAt: hoursAgo(0.5) }),
      );
      await tell(endpoint(long, 2, { status: 'failing' }), endpoint(broken, 2, { status: 'active' }));
      await tell(
        endpoint(broken, 3, { status: 'failing', changedAt: hoursAgo(0.1) }),
        endpoint(witness, 1, { status: 'failing', changedAt: hoursAgo(9) }),
      );
      await eventually(async () => {
        expect(await statusOf(witness)).toMatchObject({ status: 'suspended' });
        expect(await statusOf(long)).toMatchObject({ status: 'suspended' });
      });
      expect(await statusOf(broken)).toMatchObject({ status: 'active' });
    });

    it('leaves alone what its owner or an operator suspended', async () => {
      for (const suspender of ['owner', 'operator']) {
        const id = await listingOf(principal());
        await service.sql(`UPDATE listings SET status = 'suspended', suspended_by = $2, held_as = $3 WHERE id = $1`, [
          id,
          suspender,
          suspender === 'operator' ? 'active' : null,
        ]);
        await tell(endpoint(id, 1, { status: 'failing', changedAt: hoursAgo(2) }), endpoint(id, 2));
        expect(await statusOf(id)).toEqual({ status: 'suspended', suspended_by: suspender });
      }
    });
  });

  describe('of agents', () => {
    it('shows a seller as it registered, without asking for it', async () => {
      const seller = principal();
      const agent = {
        id: seller.accountId,
        display_name: 'Grace 🦊',
        avatar_url: 'https://a.example/g.png',
        account_type: 'agent' as const,
        is_verified: false,
      };
      await service.deliver(agentRegistered, [{ payload: { agent, registeredAt: new Date().toISOString() } }]);
      expect((await service.ask(getListing, { ref: await listingOf(seller) })).provider).toEqual(agent);
      expect(service.identity.asked).not.toContain(seller.accountId);
    });

    it('keeps the profile it asked for when the older registration arrives late', async () => {
      const seller = principal();
      const id = await listingOf(seller);
      const { provider } = await service.ask(getListing, { ref: id });
      await service.deliver(agentRegistered, [
        { payload: { agent: { ...provider, display_name: 'Old name' }, registeredAt: new Date().toISOString() } },
      ]);
      expect((await service.ask(getListing, { ref: id })).provider).toEqual(provider);
    });
  });

  describe('of payments', () => {
    const completed = (listingId: string): PayloadOf<typeof paymentCompleted> => ({
      paymentId: newId(),
      relayRequestId: `0x${'ab'.repeat(32)}`,
      gatewayRequestId: newId(),
      buyerId: newId(),
      sellerId: newId(),
      listingId,
      grossMicros: '10000',
      feeMicros: '500',
      feeReceivedMicros: '0',
      sellerStatusCode: 200,
      latencyMs: 5,
      requestDigest: '0'.repeat(64),
      responseDigest: '0'.repeat(64),
      completedAt: new Date().toISOString(),
    });

    it('counts what was paid for and delivered, a repeated event once', async () => {
      const [two, none, three] = [
        await listingOf(principal()),
        await listingOf(principal()),
        await listingOf(principal()),
      ];
      const events = [two, three, two, three, three, newId()].map((listingId) => ({
        id: newId(),
        payload: completed(listingId),
      }));
      await Promise.all([
        service.deliver(paymentCompleted, events),
        service.deliver(paymentCompleted, [...events].reverse()),
        ...events.map((event) => service.deliver(paymentCompleted, [event, event])),
      ]);
      expect(
        await service.sql(
          'SELECT completed_calls::int AS calls FROM listing_popularity WHERE listing_id = ANY($1) ORDER BY 1',
          [[two, none, three]],
        ),
      ).toEqual([{ calls: 0 }, { calls: 2 }, { calls: 3 }]);
    });

    it('counts what was subscribed to as well, once an event', async () => {
      const [subscribed, called] = [await listingOf(principal()), await listingOf(principal())];
      const started = (): PayloadOf<typeof subscriptionStarted> => ({
        subscriptionId: newId(),
        paymentId: null,
        consumerId: newId(),
        sellerId: newId(),
        listingId: subscribed,
        pricingModel: 'free',
        grossMicros: '0',
        feeReceivedMicros: '0',
        startedAt: new Date().toISOString(),
      });
      const events = Array.from({ length: 3 }, () => ({ id: newId(), payload: started() }));
      await Promise.all([
        service.deliver(subscriptionStarted, events),
        service.deliver(subscriptionStarted, [...events, ...events]),
        service.deliver(paymentCompleted, [{ payload: completed(called) }]),
      ]);
      expect(
        await service.sql('SELECT completed_calls::int AS purchases FROM listing_popularity WHERE listing_id = $1', [
          subscribed,
        ]),
      ).toEqual([{ purchases: 3 }]);
    });
  });

  it('of popularity orders the popular: the latest version, in whatever order and however often they come', async () => {
    const ids = [await listingOf(principal()), await listingOf(principal()), await listingOf(principal())];
    const [most, less, gone] = ids as [string, string, string];
    const measured = (listingId: string, version: number, popularity: number) => ({
      payload: { listingId, version, popularity },
    });
    await service.deliver(listingPopularityMeasured, [measured(less, 1, 900), measured(less, 3, 300)]);
    await service.deliver(listingPopularityMeasured, [
      measured(gone, 2, 0),
      measured(less, 2, 700),
      measured(most, 1, 400),
      measured(newId(), 1, 1_000_000_000),
    ]);
    await service.deliver(listingPopularityMeasured, [measured(gone, 1, 800), measured(less, 1, 900)]);
    const { items } = await service.search({ sort: 'popular', page: 1, limit: 100 });
    expect(items.map(({ id }) => id).filter((id) => ids.includes(id))).toEqual([most, less, gone]);
    // Searches read a coarse standing with the match.
    await service.deliver(listingPopularityMeasured, [measured(most, 2, 500_000_000)]);
    await eventually(async () =>
      expect(await service.sql('SELECT standing FROM listings WHERE id = ANY($1) ORDER BY 1', [ids])).toEqual([
        { standing: 0 },
        { standing: 0 },
        { standing: 20 },
      ]),
    );
    expect(await service.sql('SELECT 1 FROM listing_popularity WHERE standing <> known_standing')).toEqual([]);
  });

  describe('of reviews', () => {
    const rated = (
      listingId: string,
      reviewCount: number,
      means: number[] = [1, 1, 1],
    ): PayloadOf<typeof listingRated> => ({
      listingId,
      reviewCount,
      averageAccuracy: means[0]!,
      averageReliability: means[1]!,
      averageValue: means[2]!,
      ratedAt: new Date().toISOString(),
    });

    it('shows the summary of most reviews, however often and in whatever order summaries come', async () => {
      const id = await listingOf(principal());
      expect(await service.ask(getListing, { ref: id })).toMatchObject({ rating: null });
      const summaries = [rated(id, 1), rated(id, 3, [5, 4 + 2 / 3, 10 / 3]), rated(id, 2)].map((payload) => ({
        id: newId(),
        payload,
      }));
      await service.deliver(listingRated, summaries);
      await service.deliver(listingRated, [...summaries].reverse());
      await service.deliver(listingRated, [{ payload: rated(id, 2) }, { payload: rated(newId(), 1) }]);
      expect(await service.ask(getListing, { ref: id })).toMatchObject({
        rating: { average: 4.33, count: 3, accuracy: 5, reliability: 4.67, value: 3.33 },
      });
    });
  });
});
