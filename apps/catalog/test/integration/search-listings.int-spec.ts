import type { RequestOf } from '@market/contracts';
import {
  getListing,
  listCategories,
  listingsOf,
  listingView,
  searchListings,
  updateListing,
} from '@market/contracts/catalog';
import { Database } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { eventually } from '@market/testing';
import fc from 'fast-check';
import { catalogConfig } from '../../src/config.js';
import { catalogDatabase } from '../../src/database.js';
import { LIVE_RELIABILITY } from '../../src/quality/quality.js';
import { ListingSearch } from '../../src/search/listing-search.js';
import { Meaning } from '../../src/search/meaning/meaning.js';
import { principal, startCatalog, type CatalogService } from '../support/catalog-service.js';
import { create } from '../support/listings.js';
import { naiveSearch } from '../support/search-model.js';
import { listingOf, seedListings, type SeededListing } from '../support/seed-listings.js';

type Search = RequestOf<typeof searchListings>;
type Sort = Exclude<NonNullable<Search['sort']>, 'relevance'>;

const LISTINGS = 1_300;
const SORTS = ['newest', 'popular', 'reliable', 'price_low', 'price_high'] as const;

describe('the list of listings', () => {
  let service: CatalogService;
  let all: SeededListing[];
  let categoryIds: string[];
  let bounded: ListingSearch;
  let close: () => Promise<void>;

  const some = <T>(...items: T[]) => fc.constantFrom(...items);

  beforeAll(async () => {
    service = await startCatalog();
    categoryIds = (await service.ask(listCategories, {})).categories.map(({ id }) => id);
    // A small range of times, prices and counts produces ties.
    const listing = fc.record({
      categoryId: fc.option(some(...categoryIds.slice(0, 4))),
      pricing: some(
        ['free', 0n],
        ['monthly', 1_000_000n],
        ['monthly', 5_000_000n],
        ['yearly', 5_000_000n],
        ['usage_tiered', 1n],
        ['per_call', 2_000_000n],
      ) as fc.Arbitrary<['free' | 'monthly' | 'yearly' | 'usage_tiered' | 'per_call', bigint]>,
      deliveryType: some('api', 'webhook', 'file') as fc.Arbitrary<SeededListing['deliveryType']>,
      status: some('active', 'active', 'active', 'active', 'draft', 'suspended') as fc.Arbitrary<
        SeededListing['status']
      >,
      createdAt: fc.nat({ max: 300 }).map((minutes) => new Date(Date.UTC(2026, 0, 1) + minutes * 60_000)),
      completedCalls: fc.nat({ max: 20 }),
      live: fc.boolean(),
      reliability: fc.nat({ max: 20 }),
      success: some(null, 0.5, 0.95, 1),
    });
    all = fc
      .sample(listing, { numRuns: LISTINGS, seed: 20_261_121 })
      .map(({ pricing: [pricingModel, priceMicros], ...values }) =>
        listingOf({
          ...values,
          name: 'Fjord',
          pricingModel,
          priceMicros,
          // Only per_call listings have a reliability, and that of those that work is higher.
          reliability: pricingModel !== 'per_call' ? 0 : (values.live ? LIVE_RELIABILITY : 0) + values.reliability,
        }),
      );
    await seedListings(service, all);
    await service.sql('ANALYZE');
    const database = await Database.open(catalogDatabase, { url: service.databaseUrl, poolSize: 2 });
    const jobs = new Jobs();
    bounded = new ListingSearch(database, jobs, new Meaning(database, jobs, catalogConfig.parse({}, [])));
    bounded.onModuleInit();
    await jobs.prepare();
    close = async () => {
      await jobs.stop();
      await bounded.onModuleDestroy();
      await database.close();
    };
  });
  afterAll(async () => {
    await close();
    await service.stop();
  });

  const filters = () => {
    const price = some('0', '1', '1000000', '4999999', '5000000');
    return fc.record(
      {
        categoryId: some(0, 1, 5).map((index) => categoryIds[index]!),
        pricingModel: some('free', 'monthly', 'yearly', 'per_call') as fc.Arbitrary<
          NonNullable<Search['pricingModel']>
        >,
        deliveryType: some('api', 'webhook', 'batch') as fc.Arbitrary<NonNullable<Search['deliveryType']>>,
        minPriceMicros: price,
        maxPriceMicros: price,
        live: fc.boolean(),
        minSuccess: some(0, 0.5, 0.9501, 1),
        sort: some<Sort>(...SORTS),
      },
      { requiredKeys: [] },
    );
  };

  it('has exactly what a naive reading of the filters finds, in the same order, with the exact total', async () => {
    const page = fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 5 }) },
      { weight: 1, arbitrary: fc.integer({ min: 40, max: 2_000_000_000 }) },
    );
    await fc.assert(
      fc.asyncProperty(filters(), page, fc.integer({ min: 1, max: 100 }), async (asked, number, limit) => {
        const search: Search = { ...asked, page: number, limit, facets: true };
        const { total, facets, ...found } = await service.ask(searchListings, search);
        expect({ ids: listingsOf(found).map(({ id }) => id), total, facets }).toEqual(naiveSearch(all, search));
      }),
      { numRuns: 300 },
    );
  }, 120_000);

  it('is read to its end by cursors of every page size, however many match, each listing once', async () => {
    await fc.assert(
      fc.asyncProperty(
        filters(),
        fc.oneof(
          fc.record({ counted: some(5, 50, 10_000), text: fc.constant(undefined) }),
          fc.constant({ counted: 10_000, text: 'fjord' }),
        ),
        fc.integer({ min: 7, max: 100 }),
        async ({ sort = 'newest', ...asked }, { counted, text }, limit) => {
          const { ids: expected, total } = naiveSearch(all, { ...asked, sort, page: 1, limit: all.length });
          const seen: string[] = [];
          let after: { key: string; id: string } | undefined;
          for (let page = 0; page === 0 || after; page += 1) {
            const found = await bounded.find(
              { ...asked, sort, limit, offset: 0, text, ...(after && { after }) },
              counted,
            );
            expect([found.total, found.totalIsEstimate]).toEqual([Math.min(total, counted), total > counted]);
            seen.push(...listingsOf(found).map(({ id }) => id));
            after = found.next ?? undefined;
          }
          expect(seen).toEqual(expected);
        },
      ),
      { numRuns: 40 },
    );
  }, 120_000);

  it('has no page beyond what is counted, and no row beyond the last one', async () => {
    const { total } = await service.search({ page: 1, limit: 1 });
    expect(await service.search({ page: Number.MAX_SAFE_INTEGER, limit: 100 })).toEqual({ items: [], total });
    const asked = { limit: 10, sort: 'newest' as const };
    const lengths = [];
    for (const offset of [40, 50, 60]) lengths.push(listingsOf(await bounded.find({ ...asked, offset }, 50)).length);
    expect(lengths).toEqual([10, 0, 0]);
  });
});

describe('search', () => {
  let service: CatalogService;

  const search = (values: Partial<Search>) => service.search({ page: 1, limit: 20, ...values });
  const namesFor = async (q: string, more: Partial<Search> = {}) =>
    (await search({ q, ...more })).items.map(({ name }) => name);
  const noteFor = async (q: string) => (await service.ask(searchListings, { q, page: 1, limit: 5 })).search!;
  /** The listings of the test: each a name, a description, and tags. */
  async function sell(
    ...texts: [name: string, description?: string, tags?: string[], more?: Partial<SeededListing>][]
  ) {
    const listings = texts.map(([name, description, tags = [], more = {}]) =>
      listingOf({ name, tags, ...(description !== undefined && { description }), ...more }),
    );
    await seedListings(service, listings);
    return listings;
  }

  beforeAll(async () => {
    service = await startCatalog();
    await seedListings(
      service,
      Array.from({ length: 60 }, (_, index) =>
        listingOf({ name: `Gadget ${index}`, description: 'Runs a model over data for an agent, fast and reliable' }),
      ),
    );
  });
  afterEach(() => service.sql(`DELETE FROM listings WHERE name NOT LIKE 'Gadget %'`));
  afterAll(() => service.stop());

  it('ranks by where a word is: the name, a tag, the description, the docs', async () => {
    await sell(
      ['Fourth', undefined, [], { docs: 'Reads a barcode' }],
      ['Third', 'Reads a barcode from a picture'],
      ['Second', undefined, ['barcode']],
      ['Barcode first'],
    );
    expect(await namesFor('barcode')).toEqual(['Barcode first', 'Second', 'Third', 'Fourth']);
  });

  it('requires no word, and ranks what has all of them first, then what has more and rarer ones', async () => {
    await sell(
      ['Translator', 'Translates everything'],
      ['Text tools', 'Also translates from German to English'],
      ['English lessons', 'Lessons in English'],
      ['German grammar', 'German and English spelling'],
    );
    const found = await namesFor('translate german to english');
    expect(found[0]).toBe('Text tools');
    expect(new Set(found)).toEqual(new Set(['Text tools', 'Translator', 'English lessons', 'German grammar']));
    // An order other than relevance is for what fits best.
    expect(await namesFor('translate german to english', { sort: 'price_low' })).toEqual(['Text tools']);
    const asked = { q: 'translate german to english', page: 1, limit: 1, facets: true };
    expect((await service.ask(searchListings, asked)).facets).toEqual({
      category: [],
      pricing_model: [{ value: 'free', listings: 4 }],
      delivery_type: [{ value: 'api', listings: 4 }],
      live: [],
    });
  });

  it.each([
    ['Speech-to-Text Pro', ['speech to text', 'speech2text', 'speech-to-text', 'speechtotext', 'SpeechToText', 'STT']],
    ['Résumé parser', ['resume parser', 'RESUME PARSING', 'résumés', 'cv parser', 'curriculum vitae']],
    ['Time Zone Finder', ['timezone', 'time-zone', 'TimeZone']],
    ['Webscraping Kit', ['web scraping', 'web-scraping', 'webscraping']],
    ['csvToJson', ['csv to json', 'csv2json', 'csvtojson']],
    ['ICD-10 codes', ['icd10', 'ICD 10', 'icd-10']],
    ['C++ linter', ['c++', 'cpp', 'C++ lint']],
    ['.NET decompiler', ['.net', 'dotnet']],
    ['Übersetzung Polnisch', ['ubersetzung', 'Übersetzungen', 'übersetzung polnisch']],
    ['Prévisions météo', ['previsions meteo', 'prévision']],
    ['Прогноз погоды', ['прогнозы', 'погода']],
    ['多言語の請求書読み取りサービス', ['請求書', '読み取り']],
    ['한국어 맞춤법 검사기', ['맞춤법', '맞춤법 검사']],
    ['中文文字识别接口', ['文字识别', '识别']],
    ['Fox cam 🦊', ['🦊']],
    ['Email verification', ['emial verification', 'e-mail verification', 'verify emails', 'email validation']],
    ['Flight tracker', ['flihgt tracker', 'fligth', 'flights']],
    ['QR code maker', ['qr cod', 'cod qr', 'qrcode']],
    ['Metadata extractor', ['metadta']],
    ['Contract review', ['contarct', 'contracts reviewed']],
    ['Summarizer', ['summarise', 'summarising', 'zusammenfassung', '要約']],
    ['Rechnungserkennung', ['invoice', 'fatura']],
    ['Web crawler', ['webscraping', 'web scraping']],
  ])('finds %j however it is asked for', async (name, questions) => {
    await sell([name, 'Sold per call'], ['Meta contact form', 'Contact people by post']);
    // A synonym that no listing had is looked for again half a second later.
    for (const q of questions) await eventually(async () => expect([q, (await namesFor(q))[0]]).toEqual([q, name]));
  });

  it('finds an emoji, and no other one', async () => {
    await sell(['Rain radar 🌦️'], ['Mail ✉️'], ['Polish 🇵🇱'], ['German 🇩🇪']);
    expect(await namesFor('🌦️')).toEqual(['Rain radar 🌦️']);
    expect(await namesFor('🇩🇪')).toEqual(['German 🇩🇪']);
  });

  it('looks at what promises most where very many have the words, and says that there may be more', async () => {
    const common = Array.from({ length: 1_600 }, (_, index) =>
      listingOf({
        name: `Ledger ${index}`,
        description: 'Daily numbers of harbours, for an agent',
        priceMicros: 5n,
        pricingModel: 'monthly',
      }),
    );
    await seedListings(service, common);
    await sell(
      ['Harbour ledger'],
      ['Boat papers', 'The ledger of ships in all harbours, by quokka'],
      ['Quokka pictures', 'Nothing else'],
    );
    await seedListings(service, [listingOf({ name: 'Harbours', description: 'Withdrawn', status: 'draft' })]);
    const broad = await service.ask(searchListings, { q: 'harbour', page: 1, limit: 5 });
    expect(broad).toMatchObject({ totalIsEstimate: true, search: { match: 'all' } });
    expect(listingsOf(broad)[0]!.name).toBe('Harbour ledger');
    expect((await namesFor('ledger in harbours'))[0]).toBe('Harbour ledger');
    expect(await namesFor('harbours ledger quokka')).toEqual(['Boat papers', 'Quokka pictures']);
    expect(await namesFor('harbour -numbers')).toEqual(['Harbour ledger', 'Boat papers']);
    expect(await namesFor('"in all harbours"')).toEqual(['Boat papers']);
    // A filter that leaves few is answered exactly.
    const narrowed = await service.ask(searchListings, { q: 'harbour', pricingModel: 'free', page: 1, limit: 5 });
    expect(narrowed).toMatchObject({ total: 2, totalIsEstimate: false });
  });

  it('finds by the name of a category', async () => {
    const [audio] = (await service.ask(listCategories, {})).categories.filter(({ slug }) => slug === 'audio-video');
    const seller = principal();
    const { id } = await create(service, seller, { name: 'Chime', category_id: audio!.id });
    expect(await namesFor('audio')).toEqual(['Chime']);
    await service.ask(updateListing, { listing_id: id, category_id: null }, { principal: seller });
    expect(await namesFor('audio')).toEqual([]);
  });

  it('stems by the language of a listing, which it finds, and which its seller corrects', async () => {
    const seller = principal();
    const description = 'Wir prüfen die Rechnungen Ihrer Firma und melden, was nicht stimmt';
    const { id } = await create(service, seller, { name: 'Rechnungen', description });
    const shown = async () => (await service.ask(getListing, { ref: id })).language;
    expect(await shown()).toBe('de');
    expect(await namesFor('rechnung')).toEqual(['Rechnungen']);
    await service.ask(updateListing, { listing_id: id, language: 'en' }, { principal: seller });
    expect(await shown()).toBe('en');
    await service.ask(updateListing, { listing_id: id, language: null }, { principal: seller });
    expect(await shown()).toBe('de');
  });

  it('answers questions, however long', async () => {
    await sell(
      ['Weather forecast', 'Forecasts for any place'],
      ['Duplicate finder', 'Merges records of customers that are the same person'],
    );
    expect((await namesFor('what is the weather in Berlin tomorrow?'))[0]).toBe('Weather forecast');
    const long =
      'My company has a very long list of customers and I am quite sure that many of them are in it twice or even three ' +
      'times because somebody typed their names in a hurry, so please find me something that looks at all of the records ' +
      'and merges those that are of the same person without asking me about each of them, and that costs little';
    expect((await namesFor(long))[0]).toBe('Duplicate finder');
  });

  it('puts what a phrase means before what only has its words', async () => {
    await sell(
      ['Voice writer', 'Speech to text for meetings', ['speech', 'text']],
      ['Reader', 'Text to speech in forty voices'],
      ['Narrator', 'TTS for audiobooks'],
    );
    expect((await namesFor('text to speech')).slice(0, 2)).toEqual(['Reader', 'Narrator']);
    expect((await noteFor('text to speech')).used).toEqual(['text', 'speech', 'text to speech']);
  });

  it('puts the language that was asked in before others that mean the same', async () => {
    await sell(
      ['Horarios', 'Para todos los lugares'],
      ['Timetable', 'For any place you like'],
      ['Fahrplanauskunft', 'Für die hohen Alpen'],
    );
    const found = await namesFor('bahn');
    expect(found[0]).toBe('Fahrplanauskunft');
    expect(new Set(found)).toEqual(new Set(['Fahrplanauskunft', 'Timetable', 'Horarios']));
  });

  it('finds what means the same as a word that it corrected', async () => {
    await sell(['Condense', 'Makes texts short and clear'], ['Digest', 'One page of a long book']);
    expect(await namesFor('condnse')).toEqual(['Condense', 'Digest']);
  });

  it('says which words it used, corrected or found nothing for, and what is near where nothing fits', async () => {
    await sell(['Barcode reader', 'Reads labels of boxes']);
    expect(await noteFor('barcode reader')).toEqual({
      match: 'all',
      used: ['barcode', 'reader'],
      corrected: [],
      unmatched: [],
    });
    expect(await noteFor('bracode zzyzx')).toEqual({
      match: 'some',
      used: [],
      corrected: [{ word: 'bracode', as: ['barcode'] }],
      unmatched: ['zzyzx'],
    });
    expect(await noteFor('zzyzx frobnicate')).toEqual({
      match: 'none',
      used: [],
      corrected: [],
      unmatched: ['zzyzx', 'frobnicate'],
    });
    const near = await noteFor('grumpf xyzzy plugh zzyzx qwrtz labels');
    expect(near).toMatchObject({ match: 'none', near: [{ name: 'Barcode reader' }] });
  });

  it('finds nothing for words that say nothing, unless a name has all of them', async () => {
    expect(await namesFor('the and of')).toEqual([]);
    await sell(['The Who', 'Songs of a band']);
    expect(await namesFor('the who')).toEqual(['The Who']);
    expect(await namesFor('is it for me')).toEqual([]);
  });

  it('requires phrases in quotes, and excludes what follows a minus', async () => {
    await sell(['Sea chart maps'], ['Chart of the sea'], ['Sea chart, printed']);
    expect(new Set(await namesFor('"sea chart"'))).toEqual(new Set(['Sea chart maps', 'Sea chart, printed']));
    expect(await namesFor('sea chart -printed -maps')).toEqual(['Chart of the sea']);
    expect(await namesFor('-gadget')).toHaveLength(3);
  });

  it('lets what is alive, reliable and bought break ties, but not bury a better match', async () => {
    await sell(
      ['Barcode reader', 'The first one', [], { completedCalls: 0 }],
      [
        'Barcode reader',
        'The second one',
        [],
        { pricingModel: 'per_call', completedCalls: 100_000, reliability: 1_900_000, live: true },
      ],
      [
        'Labels',
        'Reads a barcode',
        [],
        { pricingModel: 'per_call', completedCalls: 200_000, reliability: 2_000_000, live: true },
      ],
    );
    expect((await search({ q: 'barcode' })).items.map(({ description }) => description)).toEqual([
      'The second one',
      'The first one',
      'Reads a barcode',
    ]);
  });

  it('reads on by a cursor, in the order of relevance', async () => {
    await sell(
      ...Array.from({ length: 25 }, (_, index): [string, string] => [
        `Zither ${index}`,
        'Zither music '.repeat(index + 1),
      ]),
    );
    const expected = await namesFor('zither', { limit: 100 });
    const seen: string[] = [];
    let after: { key: string; id: string } | null | undefined;
    do {
      const found = await service.ask(searchListings, { q: 'zither', page: 1, limit: 4, ...(after && { after }) });
      seen.push(...listingsOf(found).map(({ name }) => name));
      after = found.next;
    } while (after);
    expect(seen).toEqual(expected);
    expect(seen).toHaveLength(25);
  });

  it('shows of a listing what its detail shows, also when it has changed', async () => {
    const [whole, bare] = await sell(
      ['Xylophone "tuned" \\ ☂', undefined, ['a', 'b c'], { pricingModel: 'monthly', priceMicros: 1_230_000n }],
      ['Xylophone'],
    );
    const shown = async () => (await search({ q: 'xylophone' })).items;
    const detail = async ({ id }: SeededListing) => listingView.parse(await service.ask(getListing, { ref: id }));
    expect(new Set(await shown())).toEqual(new Set([await detail(whole!), await detail(bare!)]));
    await service.sql(
      `UPDATE listings SET description = 'Out of\ntune', price_micros = 1, logo_url = 'https://x.example/"' WHERE id = $1`,
      [whole!.id],
    );
    expect(await shown()).toContainEqual(await detail(whole!));
    await service.sql(`UPDATE listings SET status = 'draft' WHERE id = $1`, [whole!.id]);
    expect(await shown()).toEqual([await detail(bare!)]);
  });

  it.each([
    ['quotes and comments', `'; DROP TABLE listings; --`],
    ['a union', `x' UNION SELECT id::text FROM listing_challenges --`],
    ['query operators', `gadget & | ! <-> :* ( ) 'a' <2> \\`],
    ['unbalanced quotes', `"gadget ''" - -- "or" or or`],
    ['pattern characters', '% _ \\% .* [a-z]+ $1 $$ ${1}'],
    ['right-to-left and zero-width marks', '\u202egadget\u200b'],
    ['nothing but blanks', ' \t\n '],
    ['nothing but punctuation', '!!! ??? ...'],
    ['500 words', 'a '.repeat(500)],
    ['200 words', Array.from({ length: 200 }, (_, index) => `w${index}`).join(' ')],
    ['1,000 emoji', '🦊'.repeat(500)],
    ['1,000 minuses', '-'.repeat(1_000)],
    ['100 exclusions', ' -a"b'.repeat(100)],
  ])('takes %s for text', async (_what, q) => {
    const { items, total } = await search({ q });
    expect(total).toBeGreaterThanOrEqual(items.length);
    expect((await search({})).total).toBe(60);
  });

  it('takes whatever punctuation for text', async () => {
    const pieces = fc.constantFrom(
      '-',
      '"',
      ' ',
      ' or ',
      'gadget',
      '!',
      '(',
      ')',
      '&',
      '|',
      ':*',
      '<->',
      "'",
      '\\',
      '\u{1e900}',
      '\u0e01',
      '\n',
      '日',
      '本',
      '2',
      '.',
    );
    const anyText = fc.array(pieces, { minLength: 1, maxLength: 200 }).map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(anyText, async (q) => {
        await search({ q });
      }),
      { numRuns: 300 },
    );
  });

  it('finds at once what was created, and no more what was withdrawn, renamed or removed', async () => {
    const seller = principal();
    const { id } = await create(service, seller, { name: 'Krypton', description: 'A noble gas in bottles' });
    expect(await namesFor('krypton')).toEqual(['Krypton']);
    await service.ask(updateListing, { listing_id: id, name: 'Xenon' }, { principal: seller });
    expect([await namesFor('krypton'), await namesFor('xenon'), await namesFor('noble bottles')]).toEqual([
      [],
      ['Xenon'],
      ['Xenon'],
    ]);
    await service.ask(updateListing, { listing_id: id, status: 'draft' }, { principal: seller });
    expect(await namesFor('xenon')).toEqual([]);
    await service.ask(updateListing, { listing_id: id, status: 'active' }, { principal: seller });
    expect(await namesFor('xenon')).toEqual(['Xenon']);
  });
});
