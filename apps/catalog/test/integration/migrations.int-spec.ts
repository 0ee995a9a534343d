import { freshDatabase, type FreshDatabase } from '@market/testing';
import { catalogDatabase } from '../../src/database.js';

describe('the schema of the catalog', () => {
  let fresh: FreshDatabase;
  beforeAll(async () => {
    fresh = await freshDatabase(catalogDatabase);
  });
  afterAll(() => fresh.drop());

  it('seeds categories with fixed ids that the service cannot change', async () => {
    const categories = await fresh.inspect<{ id: string; slug: string; sort_order: number }>(
      'SELECT id, slug, sort_order FROM catalog.categories ORDER BY sort_order',
    );
    expect(categories.length).toBeGreaterThanOrEqual(12);
    expect(categories[0]).toEqual({
      id: '01995bad-5c00-7000-8000-000000000001',
      slug: 'data-research',
      sort_order: 10,
    });
    expect(new Set(categories.map(({ id }) => id)).size).toBe(categories.length);
    await expect(fresh.database.query({ name: 'categories.change', text: 'DELETE FROM categories' })).rejects.toThrow(
      'permission denied',
    );
  });

  it.each([
    ['a negative price', `price_micros = -1`],
    ['a price on a free listing', `pricing_model = 'free', price_micros = 1`],
    ['a suspension by nobody', `status = 'suspended'`],
    ['a suspender of an active listing', `suspended_by = 'owner'`],
    ['an operator who holds it as nothing', `status = 'suspended', suspended_by = 'operator'`],
    ['a held state without an operator', `held_as = 'active'`],
    ['an active listing that was never published', `published_at = NULL`],
    ['an unknown status', `status = 'deleted'`],
  ])('refuses %s by itself', async (_what, change) => {
    await fresh.inspect(
      `INSERT INTO catalog.providers VALUES ('00000000-0000-7000-8000-000000000001', 'P', NULL, 'agent', false) ON CONFLICT DO NOTHING`,
    );
    await fresh.inspect(
      `INSERT INTO catalog.listings (id, version, provider_id, slug, name, description,
         pricing_model, price_micros, pricing_currency, preferred_currency, delivery_type, auth_method,
         formats, example_outputs, tags, status, published_at, created_at, updated_at)
       VALUES ('00000000-0000-7000-8000-000000000002', 1, '00000000-0000-7000-8000-000000000001', 's', 'n', 'd',
         'monthly', 1, 'USD', 'USDC', 'api', 'none',
         '{}', '[]', '{}', 'active', now(), now(), now())
       ON CONFLICT DO NOTHING`,
    );
    await expect(fresh.inspect(`UPDATE catalog.listings SET ${change}`)).rejects.toThrow('violates check constraint');
  });
});
