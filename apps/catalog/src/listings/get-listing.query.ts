import type { InputOf, OutputOf } from '@market/contracts';
import { getListing } from '@market/contracts/catalog';
import { isUuid } from '@market/kernel';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { Database, GroupLookup, lookupSql, sql, type Tx } from '@market/persistence';
import { platformConfig } from '@market/runtime';
import { Inject, Injectable } from '@nestjs/common';
import { isSlug } from './slug.js';
import { DETAIL_COLUMNS, toDetail, VIEW_JOINS, type DetailRow, type ListingDetail } from './listing-views.js';

const byId = sql(
  'listings.details-by-id',
  lookupSql(`SELECT ${DETAIL_COLUMNS} FROM listings l ${VIEW_JOINS} WHERE l.id = asked.key::uuid`),
);
const bySlug = sql(
  'listings.details-by-slug',
  lookupSql(
    `SELECT ${DETAIL_COLUMNS} FROM listing_slugs s JOIN listings l ON l.id = s.listing_id ${VIEW_JOINS} WHERE s.slug = asked.key`,
  ),
);

/**
 * Returns one listing with all details. Concurrent requests share one statement. Only the owner can see a listing that
 * is not active.
 */
@Injectable()
export class GetListing {
  private readonly byId: GroupLookup<DetailRow>;
  private readonly bySlug: GroupLookup<DetailRow>;

  constructor(
    database: Database,
    @Inject(platformConfig.token) private readonly platform: { publicUrl: string },
  ) {
    this.byId = new GroupLookup(database, byId);
    this.bySlug = new GroupLookup(database, bySlug);
  }

  @HandleRequest(getListing)
  async execute({ ref }: InputOf<typeof getListing>, context: RequestContext): Promise<OutputOf<typeof getListing>> {
    const found = await this.find(ref, context.principal?.accountId);
    if (!found || (found.status !== 'active' && found.provider_id !== context.principal?.accountId))
      throw refuse(getListing, 'listing_not_found', {});
    return found;
  }

  /** Reads the listing within a transaction, including its uncommitted changes. */
  async findIn(tx: Tx, id: string, viewerId: string): Promise<ListingDetail | undefined> {
    const [row] = await tx.query<DetailRow>(byId, [[id]]);
    return row && toDetail(row, this.platform.publicUrl, viewerId);
  }

  /** Returns the listing in any status; `ref` is a uuid or a slug. */
  private async find(ref: string, viewerId: string | undefined): Promise<ListingDetail | undefined> {
    const listings = isUuid(ref) ? this.byId : isSlug(ref) ? this.bySlug : null;
    const [row] = (await listings?.find(ref)) ?? [];
    return row && toDetail(row, this.platform.publicUrl, viewerId);
  }
}
