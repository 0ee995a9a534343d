import {
  getListing,
  getListingCards,
  getOffering,
  listCategories,
  removeListing,
  updateListing,
} from '@market/contracts/catalog';
import { eventually } from '@market/testing';
import { principal, startCatalog, type CatalogService } from '../support/catalog-service.js';
import { create, perCall } from '../support/listings.js';

describe('the life of a listing', () => {
  let service: CatalogService;
  beforeAll(async () => {
    service = await startCatalog();
  });
  afterAll(() => service.stop());

  it('is created, found, read, sold, changed, suspended, drafted and removed', async () => {
    const seller = principal();
    const { categories } = await service.ask(listCategories, {});
    const category = categories[10]!;
    const created = await create(service, seller, {
      ...perCall,
      category_id: category.id,
      tags: ['forecast', 'météo'],
    });
    expect(created).toMatchObject({
      name: 'Weather',
      slug: 'weather',
      provider_id: seller.accountId,
      status: 'active',
      pricing_model: 'per_call',
      pricing_amount: 0.01,
      gateway_signing_secret: expect.stringMatching(/^whsec_/) as string,
    });

    const found = await service.search({ q: 'forecasting', page: 1, limit: 20 });
    expect(found).toMatchObject({
      total: 1,
      items: [
        {
          id: created.id,
          provider: { id: seller.accountId, is_verified: true },
          category: { id: category.id, slug: category.slug },
        },
      ],
    });

    const detail = await service.ask(getListing, { ref: 'weather' });
    expect(detail).toMatchObject({
      id: created.id,
      created_at: created.created_at,
      gateway_url: `https://market.example/api/v1/gateway/${created.id}`,
      endpoint_status: 'unverified',
      gateway_limits: { max_concurrency: 32 },
    });
    expect(await service.ask(getListing, { ref: created.id.toUpperCase() })).toEqual(detail);
    expect(JSON.stringify([found, detail])).not.toContain('seller.example');
    expect(await service.ask(getOffering, { ref: 'weather' })).toEqual({
      listingId: created.id,
      includedCalls: null,
      includedUnits: null,
      freeCalls: null,
      slug: 'weather',
      name: 'Weather',
      sellerId: seller.accountId,
      status: 'active',
      isSuspendedForDebt: false,
      pricingModel: 'per_call',
      priceMicros: '10000',
      preferredCurrency: 'USDC',
      category: { id: category.id, name: category.name, slug: category.slug },
      inputSchema: null,
      deliveryType: 'api',
      exampleInput: null,
      outputSchema: null,
      formats: ['json'],
      requestFormats: ['json'],
      usage: null,
    });

    expect(await service.ask(getListingCards, { ids: [created.id, seller.accountId] })).toEqual({
      listings: [
        {
          id: created.id,
          name: 'Weather',
          slug: 'weather',
          delivery_type: 'api',
          provider_id: seller.accountId,
          connection_instructions: null,
          auth_method: 'api_key',
          demo_endpoint: null,
        },
      ],
    });

    const changed = await service.ask(
      updateListing,
      { listing_id: created.id, name: 'Weather & Tides', pricing_amount: 0.02 },
      { principal: seller },
    );
    expect(changed).toMatchObject({ name: 'Weather & Tides', slug: 'weather', pricing_amount: 0.02 });
    expect(changed).not.toHaveProperty('gateway_signing_secret');

    expect(await service.ask(removeListing, { listing_id: created.id }, { principal: seller })).toEqual({
      id: created.id,
      deleted: false,
      status: 'suspended',
    });
    expect((await service.search({ page: 1, limit: 20 })).total).toBe(0);
    await service.ask(updateListing, { listing_id: created.id, status: 'draft' }, { principal: seller });
    expect(await service.ask(removeListing, { listing_id: created.id }, { principal: seller })).toEqual({
      id: created.id,
      deleted: true,
    });
    expect(await service.sql('SELECT id FROM listings')).toEqual([]);

    await eventually(() => {
      expect(service.received.changed.map((event) => event.category)).toEqual(
        Array(4).fill({ id: category.id, name: category.name, slug: category.slug }),
      );
      expect(service.received.worked).toEqual([
        {
          accountId: seller.accountId,
          difficulty: 1,
          solveMs: expect.any(Number) as number,
          solvedAt: created.created_at,
        },
      ]);
      expect(
        service.received.changed.map(({ version, status, priceMicros }) => [version, status, priceMicros]),
      ).toEqual([
        [1, 'active', '10000'],
        [2, 'active', '20000'],
        [3, 'suspended', '20000'],
        [4, 'draft', '20000'],
      ]);
      expect(service.received.removed).toMatchObject([{ listingId: created.id }]);
      expect(service.received.touched).toEqual(Array(5).fill({ listingId: created.id, slugs: ['weather'] }));
    });
  });

  it('is offered with its schemas and its example, as it is shown', async () => {
    const schemas = { input_schema: { type: 'object' }, example_input: { at: 'a' }, output_schema: { type: 'array' } };
    const { id } = await create(service, principal(), schemas);
    const { inputSchema, exampleInput, outputSchema } = await service.ask(getOffering, { ref: id });
    expect([inputSchema, exampleInput, outputSchema].map((text) => JSON.parse(text!) as unknown)).toEqual(
      Object.values(schemas),
    );
  });

  it('keeps an example that fits its schema, whatever changes at the same time', async () => {
    const seller = principal();
    const of = (type: string) => ({ type: 'object', properties: { at: { type } }, required: ['at'] });
    const { id } = await create(service, seller, {
      ...perCall,
      name: 'Tides',
      input_schema: of('string'),
      example_input: { at: 'a' },
    });
    const change = (fields: object) =>
      service.ask(updateListing, { listing_id: id, ...fields }, { principal: seller }).then(
        () => true,
        () => false,
      );
    for (let round = 0; round < 5; round++) {
      await change({ input_schema: of('string'), example_input: { at: 'a' } });
      const changed = await Promise.all([
        change({ input_schema: { type: 'object', properties: { at: {} } } }),
        change({ input_schema: of('number'), example_input: { at: 7 } }),
        change({ example_input: { at: 'b' } }),
        change({ description: 'Changed meanwhile.' }),
      ]);
      expect(changed[1]).toBe(true);
      const { input_schema, example_input } = await service.ask(getListing, { ref: id });
      const wanted = (input_schema as { properties: { at: { type?: string } } }).properties.at.type;
      expect([undefined, typeof example_input!.at]).toContain(wanted);
    }
  });
});
