import type { Currency, PricingModel } from '@market/contracts';
import { isUuid, type Micros } from '@market/kernel';
import { sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import type { HeldAs, ListingStatus, Suspender } from '../domain/listing-state.js';
import { isSlug, slugCandidates } from '../domain/slug.js';
import { ListingEntity } from './listing.entity.js';

/** What decides about a change of a listing. */
export interface ListingFacts {
  id: string;
  version: number;
  providerId: string;
  slug: string;
  name: string;
  categoryId: string | null;
  pricingModel: PricingModel;
  priceMicros: Micros;
  pricingCurrency: string;
  preferredCurrency: Currency;
  status: ListingStatus;
  suspendedBy: Suspender | null;
  heldAs: HeldAs | null;
  publishedAt: Date | null;
}

const FACTS = `id, version, provider_id AS "providerId", slug, name, category_id AS "categoryId", pricing_model AS "pricingModel", price_micros AS "priceMicros",
  pricing_currency AS "pricingCurrency", preferred_currency AS "preferredCurrency", status, suspended_by AS "suspendedBy", held_as AS "heldAs", published_at AS "publishedAt"`;
const find = sql('listings.find', `SELECT ${FACTS} FROM listings WHERE id = $1`);
const lock = sql('listings.lock', `SELECT ${FACTS} FROM listings WHERE id = $1 FOR UPDATE`);
const idOfSlug = sql('listing-slugs.resolve', 'SELECT l.id FROM listing_slugs s JOIN listings l ON l.id = s.listing_id WHERE s.slug = $1');
const lockSeller = sql('listings.lock-seller', 'SELECT 1 FROM providers WHERE id = $1 FOR NO KEY UPDATE');
const countOfSeller = sql('listings.count-of-seller', 'SELECT count(*)::int AS count FROM listings WHERE provider_id = $1');
const claimSlug = sql('listing-slugs.claim', 'INSERT INTO listing_slugs (slug, listing_id) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING slug');
const slugsOf = sql('listing-slugs.of-listing', 'SELECT slug FROM listing_slugs WHERE listing_id = $1 ORDER BY slug');
const freeSlugs = sql('listing-slugs.free', 'DELETE FROM listing_slugs WHERE listing_id = $1');

type FactsRow = Omit<ListingFacts, 'priceMicros'> & { priceMicros: string };

@Injectable()
export class ListingsRepository {
  find(from: Pick<Tx, 'query'>, id: string): Promise<ListingFacts | undefined> {
    return this.read(from.query<FactsRow>(find, [id]));
  }

  /** Nobody else changes the listing until the transaction ends. */
  lock(tx: Tx, id: string): Promise<ListingFacts | undefined> {
    return this.read(tx.query<FactsRow>(lock, [id]));
  }

  /** The id behind a uuid or a slug, current or former; undefined when it names nothing, or only a uuid that may. */
  async resolve(from: Pick<Tx, 'query'>, ref: string): Promise<string | undefined> {
    if (isUuid(ref)) return ref;
    return isSlug(ref) ? (await from.query<{ id: string }>(idOfSlug, [ref]))[0]?.id : undefined;
  }

  /** How many listings a seller has, whatever their status. Nobody adds one for the same seller until the transaction ends. */
  async countOfSeller(tx: Tx, sellerId: string): Promise<number> {
    await tx.query(lockSeller, [sellerId]);
    return (await tx.query<{ count: number }>(countOfSeller, [sellerId]))[0]!.count;
  }

  /**
   * Takes the best free slug of a name. One that a parallel transaction is taking is waited for, not fought over.
   * Queries: 1 a candidate.
   */
  async claimSlug(tx: Tx, listingId: string, name: string): Promise<string> {
    const candidates = slugCandidates(name);
    for (;;) {
      const slug = candidates.next().value;
      if ((await tx.query(claimSlug, [slug, listingId])).length > 0) return slug;
    }
  }

  async slugsOf(tx: Tx, listingId: string): Promise<string[]> {
    return (await tx.query<{ slug: string }>(slugsOf, [listingId])).map(({ slug }) => slug);
  }

  async insert(tx: Tx, listing: ListingEntity): Promise<void> {
    await tx.manager.insert(ListingEntity, listing);
  }

  async update(tx: Tx, id: string, columns: Partial<ListingEntity>): Promise<void> {
    await tx.manager.update(ListingEntity, { id }, columns);
  }

  /** The slugs of a listing that was never public are free again; those of another stay its own for ever. */
  async remove(tx: Tx, { id, publishedAt }: ListingFacts): Promise<void> {
    await tx.manager.delete(ListingEntity, { id });
    if (publishedAt === null) await tx.query(freeSlugs, [id]);
  }

  private async read(rows: Promise<FactsRow[]>): Promise<ListingFacts | undefined> {
    const [row] = await rows;
    return row && { ...row, priceMicros: BigInt(row.priceMicros) };
  }
}
