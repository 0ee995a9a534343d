import type { InputOf } from '@market/contracts';
import type { createListing } from '@market/contracts/catalog';
import { isUuid } from '@market/kernel';
import { sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import type { StateColumns } from './listing-state.js';
import { Categories } from '../categories/categories.js';
import { listingWords, type SearchedTexts } from '../search/listing-words.js';
import { isSlug, slugCandidates } from './slug.js';

/** The fields that a seller writes, as columns. */
export interface ListingFields extends Omit<
  InputOf<typeof createListing>,
  'pow_nonce' | 'challenge' | 'private_endpoint_url' | 'status' | 'pricing_amount'
> {
  price_micros: string;
}

/** All written columns of a listing, without those that it is found by. */
export interface Listing extends ListingFields, StateColumns {
  id: string;
  /** Increases with each change. */
  version: number;
  provider_id: string;
  slug: string;
  /** When the listing first became active. Its slugs are reserved from then on. */
  published_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

const FACTS = [
  'id',
  'version',
  'provider_id',
  'name',
  'pricing_model',
  'price_micros',
  'usage',
  'included_calls',
  'included_units',
  'free_calls',
  'status',
  'suspended_by',
  'held_as',
  'published_at',
  'input_schema',
  'example_input',
  'output_schema',
] as const;
/** The columns that decide whether a change is allowed. */
export type ListingFacts = Pick<Listing, (typeof FACTS)[number]>;

const find = sql('listings.find', `SELECT ${FACTS.join()} FROM listings WHERE id = $1`);
// Everything locks sellers first, then listings, both in the order of their ids, and what belongs to a listing last.
const lockSellersOf = sql(
  'listings.lock-sellers-of',
  `SELECT 1 FROM providers WHERE id IN (SELECT provider_id FROM listings WHERE id = ANY($1::uuid[])) ORDER BY id FOR SHARE`,
);
const lock = sql(
  'listings.lock',
  `SELECT ${FACTS.join()} FROM listings WHERE id = ANY($1::uuid[]) ORDER BY id FOR UPDATE`,
);
const idOfSlug = sql(
  'listing-slugs.resolve',
  'SELECT l.id FROM listing_slugs s JOIN listings l ON l.id = s.listing_id WHERE s.slug = $1',
);
const ofSeller = sql(
  'listings.of-seller',
  `SELECT id FROM listings WHERE provider_id = $1 AND (price_micros > 0 OR NOT $3)
     AND CASE WHEN $2 THEN status = 'active' ELSE suspended_by = 'system' END ORDER BY id`,
);
const lockSeller = sql('listings.lock-seller', 'SELECT 1 FROM providers WHERE id = $1 FOR NO KEY UPDATE');
const countOfSeller = sql(
  'listings.count-of-seller',
  'SELECT count(*)::int AS count FROM listings WHERE provider_id = $1',
);
const claimSlug = sql(
  'listing-slugs.claim',
  'INSERT INTO listing_slugs (slug, listing_id) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING slug',
);
const slugsOf = sql('listing-slugs.of-listing', 'SELECT slug FROM listing_slugs WHERE listing_id = $1 ORDER BY slug');
const remove = sql('listings.remove', 'DELETE FROM listings WHERE id = $1');
const freeSlugs = sql('listing-slugs.free', 'DELETE FROM listing_slugs WHERE listing_id = $1');

const SEARCHED = ['name', 'tags', 'description', 'docs', 'category_id', 'language'] as const;
const textsOf = sql('listings.searched-texts', `SELECT ${SEARCHED.join()} FROM listings WHERE id = $1`);
const index = sql(
  'listings.index',
  `UPDATE listings SET found_language = spoken, search = search_words(spoken, $2, $3)
   FROM coalesce($4, language_of($5)) spoken WHERE id = $1`,
);
// The words are inserted in one order, so that concurrent transactions with the same new words do not deadlock.
const keepWords = sql(
  'listing-words.keep',
  `INSERT INTO listing_words SELECT DISTINCT word COLLATE "C" FROM unnest($1::text[]) word ORDER BY 1 ON CONFLICT DO NOTHING`,
);

@Injectable()
export class ListingsRepository {
  constructor(private readonly categories: Categories) {}

  async find(from: Pick<Tx, 'query'>, id: string): Promise<ListingFacts | undefined> {
    return (await from.query<ListingFacts>(find, [id]))[0];
  }

  /** Locks the listing until the transaction ends. */
  async lock(tx: Tx, id: string): Promise<ListingFacts | undefined> {
    return (await this.lockAll(tx, [id]))[0];
  }

  /** Locks listings and their sellers until the transaction ends. */
  async lockAll(tx: Tx, ids: string[]): Promise<ListingFacts[]> {
    const sellers = tx.query(lockSellersOf, [ids]);
    const listings = tx.query<ListingFacts>(lock, [ids]);
    return (await Promise.all([listings, sellers]))[0];
  }

  /**
   * Returns the id for a uuid or for a current or former slug; undefined if there is none. A uuid is returned
   * unchecked.
   */
  async resolve(from: Pick<Tx, 'query'>, ref: string): Promise<string | undefined> {
    if (isUuid(ref)) return ref;
    return isSlug(ref) ? (await from.query<{ id: string }>(idOfSlug, [ref]))[0]?.id : undefined;
  }

  /** Counts the listings of a seller in every status, and locks the count until the transaction ends. */
  async countOfSeller(tx: Tx, sellerId: string): Promise<number> {
    await tx.query(lockSeller, [sellerId]);
    return (await tx.query<{ count: number }>(countOfSeller, [sellerId]))[0]!.count;
  }

  /** Returns the seller's listings, or only its paid ones, that are active or that the system suspended. */
  async ofSeller(
    tx: Tx,
    sellerId: string,
    { areActive, onlyPaid }: { areActive: boolean; onlyPaid: boolean },
  ): Promise<string[]> {
    const rows = await tx.query<{ id: string }>(ofSeller, [sellerId, areActive, onlyPaid]);
    return rows.map(({ id }) => id);
  }

  /** Reserves the best free slug of a name. It waits for concurrent transactions that reserve the same slug. */
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

  async insert(tx: Tx, listing: Listing): Promise<void> {
    const columns = Object.keys(listing).join();
    const { words, places, language, spoken } = await this.wordsOf(listing);
    await tx.query(
      {
        text: `INSERT INTO listings (${columns}, found_language, search)
          SELECT ${columns}, spoken, search_words(spoken, $2, $3)
          FROM json_populate_record(NULL::listings, $1), coalesce($4, language_of($5)) spoken`,
      },
      [JSON.stringify(listing), words, places, language, spoken],
    );
    await tx.query(keepWords, [words]);
  }

  async update(tx: Tx, id: string, changes: Partial<Listing>): Promise<void> {
    const columns = Object.keys(changes).join();
    await tx.query(
      {
        text: `UPDATE listings SET (${columns}) = (SELECT ${columns} FROM json_populate_record(NULL::listings, $2)) WHERE id = $1`,
      },
      [id, JSON.stringify(changes)],
    );
    if (!SEARCHED.some((field) => field in changes)) return;
    const [texts] = await tx.query<Pick<Listing, (typeof SEARCHED)[number]>>(textsOf, [id]);
    const { words, places, language, spoken } = await this.wordsOf(texts!);
    await tx.query(index, [id, words, places, language, spoken]);
    await tx.query(keepWords, [words]);
  }

  private async wordsOf({ category_id, ...texts }: Pick<Listing, (typeof SEARCHED)[number]>) {
    const category = (await this.categories.list()).find(({ id }) => id === category_id);
    return listingWords({ ...texts, category: category?.name ?? null } as SearchedTexts);
  }

  /** Deletes a listing. The slugs of a listing that was never public become free; others stay reserved. */
  async remove(tx: Tx, { id, published_at }: ListingFacts): Promise<void> {
    await tx.query(remove, [id]);
    if (published_at === null) await tx.query(freeSlugs, [id]);
  }
}
