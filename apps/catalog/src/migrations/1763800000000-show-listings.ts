import type { MigrationInterface, QueryRunner } from 'typeorm';

/** As `listing-views.ts` had it at the time of this migration. */
export const SHOWN = `
  SELECT l.id, row_to_json(view)::text
  FROM listings l
    JOIN providers provider ON provider.id = l.provider_id
    LEFT JOIN categories category ON category.id = l.category_id
    CROSS JOIN LATERAL (
      SELECT l.id, l.slug, l.provider_id, l.name, l.description, l.category_id, l.pricing_model, trim_scale(l.price_micros / 1000000.0) AS pricing_amount,
        l.pricing_currency, l.preferred_currency, l.delivery_type, l.auth_method, l.formats, l.demo_endpoint, l.github_url, l.logo_url, l.expected_delivery,
        l.tags, l.status, to_char(l.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
        (SELECT shown FROM (SELECT provider.id, provider.display_name, provider.avatar_url, provider.account_type, provider.is_verified) shown) AS provider,
        (SELECT shown FROM (SELECT category.id, category.name, category.slug) shown WHERE category.id IS NOT NULL) AS category
    ) view
  WHERE l.status = 'active'`;

/**
 * Keeps each active listing as search shows it. To write twenty listings as JSON takes PostgreSQL three times as long as to read them
 * written; and a listing is written once and shown often.
 */
export class ShowListings1763800000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE shown_listings (listing_id uuid PRIMARY KEY REFERENCES listings (id) ON DELETE CASCADE, json text NOT NULL)');
    await runner.query(`INSERT INTO shown_listings (listing_id, json) ${SHOWN}`);
    // What a listing shows of its seller and of its category does not change.
    for (const event of ['INSERT', 'UPDATE']) {
      const name = `listings_show_after_${event.toLowerCase()}`;
      await runner.query(`
        CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
        BEGIN
          DELETE FROM shown_listings USING changed WHERE listing_id = changed.id AND changed.status <> 'active';
          INSERT INTO shown_listings (listing_id, json) ${SHOWN} AND l.id IN (SELECT id FROM changed)
          ON CONFLICT (listing_id) DO UPDATE SET json = excluded.json;
          RETURN NULL;
        END $$`);
      await runner.query(`CREATE TRIGGER ${name} AFTER ${event} ON listings REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ${name}()`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION listings_show_after_insert, listings_show_after_update CASCADE');
    await runner.query('DROP TABLE shown_listings');
  }
}
