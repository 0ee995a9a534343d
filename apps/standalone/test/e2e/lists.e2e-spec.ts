import { evmWallet, type CreatedWebhook, type Marketplace, type Offer } from '@market/sdk';
import { eventually, OPERATOR, startMarketplace, withClient, type RunningMarketplace } from '@market/testing';
import { randomUUID } from 'node:crypto';
import { OpenApiDocument, type Media } from '../../../api-gateway/test/support/openapi-document.js';
import { expectBooksInOrder } from '../support/books.js';
import { callOnce, quote, resultOf, withRelayId } from '../support/buyer.js';
import { inParallel } from '../support/fuzz/in-parallel.js';
import { perCall } from '../support/listings.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';
import { openShop, reply, type Shop } from '../support/seller.js';
import { freeFeed, letTimePass, listFeed } from '../support/subscriber.js';

const EVENTS = 24;
const SALES = 6;
const OTHERS = 4;
/** No list has so many rows, and every list takes it as its limit. */
const ALL = 50;

interface Pagination {
  page: number;
  limit: number;
  total: number;
  totalPages: number;
  next_cursor?: string;
}
type Reader = Agent | 'operator';
type Query = Record<string, string | number>;

const RATINGS = { accuracy_rating: 5, reliability_rating: 4, value_rating: 3 };
/** A refund is due soon after its time and is paid in no run, and no endpoint is found failing. */
const ENV = {
  PAYMENTS_LEDGER_SANDBOX_REFUND_SECONDS: '86400',
  PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '100',
  GATEWAY_FAILING_AFTER: '1000',
  GATEWAY_PROBE_INTERVAL_MS: '3600000',
};

inEachMode('lists and streams', ({ mode }) => {
  let marketplace: RunningMarketplace;
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;
  let broken: Shop;
  /** Gets the sales of the seller. */
  let webhook: CreatedWebhook;
  let operator: Marketplace;

  /** Makes a call that is paid and, unless the shop is broken, delivered. */
  const buy = async (by: Agent, of: Shop): Promise<Offer> => {
    const body = { n: randomUUID() };
    const offer = await quote(by, of.listing, body);
    await by.market.sandbox.pay(offer.relay_request_id);
    const answer = await callOnce(by, of.listing, body, withRelayId(offer.relay_request_id));
    expect([answer.status, resultOf(answer).billable]).toEqual([200, of !== broken]);
    return offer;
  };
  const review = async (): Promise<void> => {
    const reviewer = await registerAgent(marketplace);
    await buy(reviewer, shop);
    await reviewer.market.reviews.create(shop.listing, RATINGS);
  };
  const list = async (): Promise<void> => void (await seller.market.listings.create(perCall()));
  const subscribe = async (): Promise<void> => void (await buyer.market.subscribe(await listFeed(seller, freeFeed)));
  const look = async (): Promise<void> => {
    for (const action of ['suspend', 'release'])
      await operator.request('POST', `/admin/listings/${broken.listing.id}/${action}`, {
        body: { reason: 'looked at' },
      });
  };
  const refund = async (): Promise<void> => {
    const due = async (): Promise<number> => (await ask(buyer, '/refunds', { limit: ALL })).pagination.total;
    const before = await due();
    await letTimePass(marketplace, { window: (await buy(buyer, broken)).payment_id });
    await eventually(async () => expect(await due()).toBe(before + 1));
  };
  /** What adds a row, by list; without one, a sale does. */
  const ADD: Record<string, () => Promise<void>> = {
    '/listings': list,
    '/discovery/resources': list,
    '/discovery/search': list,
    '/subscriptions': subscribe,
    '/reviews/{listingId}': review,
    '/refunds': refund,
    '/admin/audit': look,
  };

  beforeAll(async () => {
    marketplace = await startMarketplace({ mode, env: ENV });
    [seller, buyer] = await Promise.all([registerAgent(marketplace), registerAgent(marketplace)]);
    ({ marketplace: operator } = await stranger(marketplace).signIn(evmWallet(OPERATOR.key)));
    shop = await openShop(seller, () => ({ ok: true }));
    broken = await openShop(seller, () => reply(500, {}));
    webhook = await seller.market.webhooks.create({ url: 'https://hooks.example/', event_types: ['sale'] });
    for (let n = 1; n <= SALES; n += 1) await buy(buyer, shop);
    for (let n = 1; n < OTHERS; n += 1) await Promise.all([list(), subscribe(), review(), refund()]);
    await look();
    await look();
    await eventually(async () => {
      const { json } = await seller.market.send('GET', '/events?limit=100');
      const types = (json as { data: { type: string }[] }).data.map(({ type }) => type);
      expect(types.filter((type) => type === 'sale')).toHaveLength(SALES + OTHERS - 1);
      for (const type of ['review', 'subscription_started'])
        expect(types.filter((told) => told === type)).toHaveLength(OTHERS - 1);
    });
    await eventually(async () =>
      expect((await seller.market.webhooks.deliveries(webhook)).pagination.total).toBe(SALES + OTHERS - 1),
    );
    // Text is ordered otherwise than numbers where numbers have different lengths.
    await withClient(marketplace.databaseUrl, (client) =>
      client.query(
        `WITH head AS (SELECT last_id FROM reputation.account_event_heads WHERE account_id = $1),
           told AS (INSERT INTO reputation.account_events (account_id, id, type, at, data)
             SELECT $1, id, 'told', now(), '{}' FROM head, generate_series(last_id + 1, $2::int) AS id)
         UPDATE reputation.account_event_heads SET last_id = greatest(last_id, $2) WHERE account_id = $1`,
        [seller.id, EVENTS],
      ),
    );
  }, 240_000);
  afterAll(async () => {
    await expectBooksInOrder(marketplace, [shop, broken]);
    await Promise.all([shop?.close(), broken?.close()]);
    await marketplace?.stop();
  }, 120_000);

  const ask = async (reader: Reader, path: string, query: Query) => {
    const asker = reader === 'operator' ? operator : reader.market;
    const { status, json } = await asker.send(
      'GET',
      `${path}?${new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))}`,
    );
    expect([path, query, status]).toEqual([path, query, 200]);
    const { pagination, data, ...body } = json as { pagination: Pagination; data?: object };
    const items = [data, ...Object.values(data ?? {}), ...Object.values(body)].find((value) => Array.isArray(value));
    return { items: (items as unknown[]).map((item) => keyOf(item)), pagination };
  };
  const keyOf = (item: unknown): string => {
    const { id, resource } = item as { id?: string; resource?: string };
    return id ?? resource ?? JSON.stringify(item);
  };

  /** Every list of the OpenAPI document, with whoever reads it. */
  const lists = async (): Promise<{ path: string; address: string; readers: Reader[]; takes: string[] }[]> => {
    const document = new OpenApiDocument((await stranger(marketplace).send('GET', '/openapi.json')).json);
    return document.operations
      .filter(({ method, responses }) => method === 'get' && isList(responses['200']?.content))
      .map(({ path: documented, parameters }) => {
        const path = documented.replace('/api/v1', '');
        const address = path
          .replace('{listingId}', shop.listing.id)
          .replace('{webhookId}', webhook.id)
          .replace('{month}', new Date().toISOString().slice(0, 7))
          .replace(/\{(agentId|id)\}/, seller.id);
        return {
          path,
          address,
          readers: path.startsWith('/admin/')
            ? ['operator']
            : path.startsWith('/webhooks/')
              ? [seller]
              : [seller, buyer],
          takes: parameters.map(({ name }) => name),
        };
      });
  };
  /** Reads by page numbers, or by offsets where a public format has these. */
  const byPages = async (reader: Reader, address: string, limit: number, takes: string[], between = nothing) => {
    const read: string[] = [];
    for (let page = 1; ; page += 1) {
      const { items, pagination } = await ask(reader, address, {
        limit,
        ...(takes.includes('offset') ? { offset: (page - 1) * limit } : { page }),
      });
      read.push(...items);
      expect(pagination).toMatchObject({ limit, page, totalPages: Math.ceil(pagination.total / limit) });
      if (page >= pagination.totalPages) return read;
      await between();
    }
  };
  const byCursor = async (reader: Reader, address: string, limit: number, between = nothing) => {
    const read: string[] = [];
    for (let query: Query = { limit }; ;) {
      const { items, pagination } = await ask(reader, address, query);
      read.push(...items);
      if (pagination.next_cursor === undefined) return read;
      query = { limit, cursor: pagination.next_cursor };
      await between();
    }
  };

  it('are read to the end in small and large pages, by pages and by cursors, as the whole says', async () => {
    const all = await lists();
    expect(all.length).toBeGreaterThan(10);
    const most = new Map(all.map(({ path }) => [path, 0]));
    const readings = all.flatMap(({ readers, ...read }) => readers.map((reader) => ({ ...read, reader })));
    const read = async ({ path, address, reader, takes }: (typeof readings)[number]): Promise<void> => {
      const { items: whole, pagination } = await ask(reader, address, { limit: ALL });
      expect([path, new Set(whole).size, pagination.total]).toEqual([path, whole.length, whole.length]);
      most.set(path, Math.max(most.get(path)!, whole.length));
      const rows = whole.length;
      for (const limit of new Set([1, 2, 3, rows - 1, rows, rows + 1].filter((size) => size > 0))) {
        if (takes.includes('page') || takes.includes('offset'))
          expect([path, limit, await byPages(reader, address, limit, takes)]).toEqual([path, limit, whole]);
        if (takes.includes('cursor'))
          expect([path, limit, await byCursor(reader, address, limit)]).toEqual([path, limit, whole]);
      }
    };
    await inParallel(readings, read, 4);
    expect([...most].filter(([, rows]) => rows < 3)).toEqual([]);
    expect([...most.values()].every((rows) => rows < ALL)).toBe(true);
  }, 600_000);

  it('are read to the end while rows are added: none that was there is lost, and by a cursor none is repeated', async () => {
    for (const { path, address, readers, takes } of await lists()) {
      const reader = readers.at(path === '/events' ? 0 : -1)!;
      const add = ADD[path] ?? (async () => void (await buy(buyer, shop)));
      for (const way of ['page', 'cursor'] as const) {
        if (!takes.includes(way) && !(way === 'page' && takes.includes('offset'))) continue;
        const { items: before } = await ask(reader, address, { limit: ALL });
        const limit = Math.ceil(before.length / 3);
        let added = 0;
        const between = async (): Promise<void> => {
          if ((added += 1) <= 2) await add();
        };
        const read =
          way === 'page'
            ? await byPages(reader, address, limit, takes, between)
            : await byCursor(reader, address, limit, between);
        expect([path, way, added >= 2]).toEqual([path, way, true]);
        // What is told by events is there a moment later.
        await eventually(async () =>
          expect((await ask(reader, address, { limit: 1 })).pagination.total).toBeGreaterThan(before.length),
        );
        // A row that comes first moves the others to the next page, where they are read again.
        const once = way === 'page' ? [...new Set(read)] : read;
        expect([path, way, once.filter((key) => before.includes(key))]).toEqual([path, way, before]);
      }
    }
  }, 240_000);

  it('are streamed from every cursor', async () => {
    const { items: whole } = await ask(seller, '/events', { limit: 100 });
    for (const [index, after] of ['0', ...whole].entries()) {
      const stop = new AbortController();
      const seen: string[] = [];
      const left = whole.slice(index);
      // After the last event the stream waits for the next one.
      if (left.length === 0) void buy(buyer, shop);
      for await (const { id } of seller.market.events({ after, signal: stop.signal })) {
        seen.push(id);
        if (seen.length >= left.length) break;
      }
      stop.abort();
      expect([after, seen]).toEqual([after, left.length === 0 ? [String(whole.length + 1)] : left]);
    }
  }, 120_000);

  it('start over at a cursor of another history', async () => {
    const { items: whole } = await ask(seller, '/events', { limit: 100 });
    expect(whole.length).toBeGreaterThanOrEqual(EVENTS);
    expect(whole).toEqual(Array.from(whole, (_, index) => String(index + 1)));
    expect((await ask(seller, '/events', { limit: 100, cursor: 100_000 })).items).toEqual(whole);
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const { id } of seller.market.events({ after: '100000', signal: stop.signal })) {
      seen.push(id);
      if (seen.length === whole.length) break;
    }
    stop.abort();
    expect(seen).toEqual(whole);
  });

  it('leave no permit of a stream whose client hangs up before the first byte', async () => {
    const open = async (signal: AbortSignal): Promise<number> =>
      (
        await fetch(`${marketplace.baseUrl}/api/v1/events`, {
          headers: { authorization: seller.registration.authorization_header, accept: 'text/event-stream' },
          signal,
        })
      ).status;
    for (let n = 0; n < 60; n += 1) {
      const hangUp = new AbortController();
      const asked = open(hangUp.signal).catch(() => undefined);
      for (let turns = 0; turns < n; turns += 1) await new Promise(setImmediate);
      hangUp.abort();
      await asked;
    }
    await eventually(async () => {
      const again = new AbortController();
      expect(await open(again.signal)).toBe(200);
      again.abort();
    });
  }, 120_000);
});

const nothing = (): Promise<void> => Promise.resolve();

const isList = (content: Record<string, Media> = {}): boolean =>
  'pagination' in ((content['application/json']?.schema as { properties?: object } | undefined)?.properties ?? {});
