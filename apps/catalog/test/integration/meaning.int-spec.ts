import { listingsOf, listingView, searchListings, type ListingView } from '@market/contracts/catalog';
import { migrate } from '@market/persistence';
import { Logger } from '@nestjs/common';
import { eventually, startPgvectorServer, type PgvectorServer } from '@market/testing';
import { catalogDatabase } from '../../src/database.js';
import { principal, startCatalog, type CatalogService } from '../support/catalog-service.js';
import { startEmbeddingsServer, type EmbeddingsServer } from '../support/embeddings-server.js';
import { create, perCall } from '../support/listings.js';
import { listingOf, seedListings } from '../support/seed-listings.js';

const START_TIMEOUT_MS = 600_000;
/** What no synonym or translation of ours says. */
const MEANINGS = [
  ['umbrella', 'parapluie', 'brolly'],
  ['harbour', 'porto', 'moorings'],
  ['sourdough', 'levain', 'starter'],
];
const TEXT_REFUSED = 'Unspeakable';

describe('a search by meaning', () => {
  let postgres: PgvectorServer;
  let url: string;
  let embeddings: EmbeddingsServer;
  let service: CatalogService;

  const start = (model: string) =>
    startCatalog({
      DATABASE_URL: url,
      DATABASE_POOLING: 'transaction',
      MIGRATE_ON_START: 'false',
      CATALOG_EMBEDDINGS_URL: embeddings.url,
      CATALOG_EMBEDDINGS_MODEL: model,
    });
  const search = async (q: string, more: object = {}) => {
    const { search: note, ...found } = await service.ask(searchListings, { q, page: 1, limit: 10, ...more });
    const items: ListingView[] = listingView.strict().array().parse(listingsOf(found));
    return { names: items.map(({ name }) => name), total: found.total, next: found.next, note: note! };
  };
  /** PGlite mixes statements of connections that are not in a transaction. */
  const sql: CatalogService['sql'] = async <Row extends Record<string, unknown>>(
    statement: string,
    values?: unknown[],
  ) => {
    const tx = await service.transaction();
    const rows = await tx.sql<Row>(statement, values);
    await tx.commit();
    return rows;
  };
  const publish = (name: string, description: string, priceMicros = 0n) =>
    seedListings({ ...service, sql }, [listingOf({ name, description, priceMicros, pricingModel: 'per_call' })]);
  const areEmbedded = () =>
    eventually(
      async () => {
        const [due] = await sql<{ due: number }>(
          'SELECT count(*)::int AS due FROM listing_embeddings WHERE model = $1',
          [''],
        );
        expect(due!.due).toBe(0);
      },
      { withinMs: 60_000 },
    );

  beforeAll(async () => {
    postgres = await startPgvectorServer('catalog');
    url = postgres.url;
    await migrate(catalogDatabase, url);
    embeddings = await startEmbeddingsServer(MEANINGS);
    service = await start('few-words');
    await publish('Umbrella adviser', 'Says whether to carry an umbrella at a place and an hour.');
    await publish('Brolly rental', 'Lends a brolly for a day.', 5_000_000n);
    await publish('Harbour berths', 'Free berths of each harbour along a coast.');
    await publish('Sourdough timer', 'When a sourdough is ready to bake.');
    await areEmbedded();
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await service?.stop();
    await embeddings?.stop();
    await postgres?.stop();
  });

  it('finds what no listing has a word of, and says that it went by meaning', async () => {
    const { names, note } = await search('parapluie');
    expect(names.slice(0, 2).sort()).toEqual(['Brolly rental', 'Umbrella adviser']);
    expect(note).toMatchObject({ match: 'weak', meaning: true, unmatched: ['parapluie'] });
    expect((await search('porto')).names[0]).toBe('Harbour berths');
  });

  it('puts first what has the words and the meaning', async () => {
    const { names, note } = await search('umbrella');
    expect(names.slice(0, 2)).toEqual(['Umbrella adviser', 'Brolly rental']);
    expect(note).toMatchObject({ match: 'all', meaning: true, used: ['umbrella'] });
  });

  it('keeps to the filters, to what must not be there, and to the order that was asked for', async () => {
    expect((await search('parapluie', { minPriceMicros: '4000000' })).names).toEqual(['Brolly rental']);
    expect((await search('parapluie -lends')).names).not.toContain('Brolly rental');
    const { names, note } = await search('umbrella', { sort: 'price_low' });
    expect(names).toEqual(['Umbrella adviser']);
    expect(note).not.toHaveProperty('meaning');
  });

  it('goes on by cursor, and shows each listing once', async () => {
    const seen: string[] = [];
    let after = {};
    for (;;) {
      const { names, next } = await search('levain', { limit: 1, ...after });
      seen.push(...names);
      if (!next) break;
      after = { after: next };
    }
    expect(seen[0]).toBe('Sourdough timer');
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toHaveLength((await search('levain')).total);
  });

  it('follows a listing that changes, and one that is no longer for sale', async () => {
    await sql("UPDATE listings SET name = 'Bakery berths', description = 'A starter.' WHERE name = 'Harbour berths'");
    await areEmbedded();
    expect((await search('levain')).names.slice(0, 2).sort()).toEqual(['Bakery berths', 'Sourdough timer']);
    await sql("UPDATE listings SET status = 'draft' WHERE name = 'Bakery berths'");
    expect((await search('levain')).names).not.toContain('Bakery berths');
  });

  it('leaves out a text that the server refuses, and no other of its batch', async () => {
    embeddings.statusOf = ({ input }) => (input.some((text) => text.includes(TEXT_REFUSED)) ? 413 : 200);
    await publish(TEXT_REFUSED, 'What no model reads.');
    await publish('Moorings', 'Where to lie at night.');
    await areEmbedded();
    expect((await search('porto')).names[0]).toBe('Moorings');
    expect((await search(TEXT_REFUSED)).names).toContain(TEXT_REFUSED);
  });

  it('goes by words alone while the server fails, asks it now and then, and says so once', async () => {
    const said: string[] = [];
    const take = (line: string, context: string) => context === 'Meaning' && said.push(line);
    Logger.overrideLogger({ log: take, warn: take, error: take });
    const askedAt: number[] = [];
    embeddings.statusOf = () => {
      askedAt.push(Date.now());
      return 503;
    };
    await publish('Breakwater', 'What keeps waves out of moorings.');
    await eventually(() => expect(askedAt).toHaveLength(1));
    const { names, note } = await search('umbrella adviser');
    expect([names, note.meaning]).toEqual([['Umbrella adviser'], undefined]);
    // The job that embeds runs each second.
    await publish('Pier', 'What one walks on above waves.');
    await eventually(() => expect(askedAt).toHaveLength(2), { withinMs: 30_000 });
    expect(askedAt[1]! - askedAt[0]!).toBeGreaterThanOrEqual(4_000);
    embeddings.statusOf = () => 200;
    await eventually(async () => expect((await search('umbrella adviser')).note.meaning).toBe(true), {
      withinMs: 30_000,
    });
    Logger.overrideLogger(false);
    expect(said).toEqual([
      'the server of CATALOG_EMBEDDINGS_URL answers 503; meanwhile searches go by words alone',
      'the server of CATALOG_EMBEDDINGS_URL answers; searches go by meaning again',
    ]);
  });

  it('embeds all listings anew for another model', async () => {
    await service.stop();
    service = await start('more-words');
    await eventually(async () => expect((await search('parapluie')).names).toContain('Umbrella adviser'), {
      withinMs: 60_000,
    });
    expect(new Set(embeddings.asked.map(({ model }) => model))).toEqual(new Set(['few-words', 'more-words']));
  });
});

describe('without pgvector', () => {
  it('searches go by words alone, and the server is not asked', async () => {
    const embeddings = await startEmbeddingsServer(MEANINGS);
    const service = await startCatalog({ CATALOG_EMBEDDINGS_URL: embeddings.url });
    await create(service, principal(), { ...perCall, name: 'Umbrella adviser' });
    expect((await service.search({ q: 'umbrella', page: 1, limit: 10 })).total).toBe(1);
    expect((await service.search({ q: 'parapluie', page: 1, limit: 10 })).total).toBe(0);
    expect(embeddings.asked).toEqual([]);
    await service.stop();
    await embeddings.stop();
  });
});
