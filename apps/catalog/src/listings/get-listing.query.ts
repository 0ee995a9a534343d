import type { InputOf, OutputOf } from '@market/contracts';
import { getListing } from '@market/contracts/catalog';
import { isUuid } from '@market/kernel';
import { refuse, type RequestContext } from '@market/messaging';
import { Database, sql, type Tx } from '@market/persistence';
import { platformConfig } from '@market/runtime';
import { Inject, Injectable } from '@nestjs/common';
import { isSlug } from './slug.js';
import { DETAIL_COLUMNS, DETAIL_JOINS, toDetail, type DetailRow, type ListingDetail } from './listing-views.js';

const byId = sql('listings.detail-by-id', `SELECT ${DETAIL_COLUMNS} FROM listings l ${DETAIL_JOINS} WHERE l.id = $1`);
const bySlug = sql(
  'listings.detail-by-slug',
  `SELECT ${DETAIL_COLUMNS} FROM listing_slugs s JOIN listings l ON l.id = s.listing_id ${DETAIL_JOINS} WHERE s.slug = $1`,
);

/** One listing with all details. A listing that is not active is visible to its owner only. */
@Injectable()
export class GetListing {
  constructor(
    private readonly database: Database,
    @Inject(platformConfig.token) private readonly platform: { publicUrl: string },
  ) {}

  async execute({ ref }: InputOf<typeof getListing>, context: RequestContext): Promise<OutputOf<typeof getListing>> {
    const found = await this.find(this.database, ref, context.principal?.accountId);
    if (!found || (found.status !== 'active' && found.provider_id !== context.principal?.accountId))
      throw refuse(getListing, 'listing_not_found', {});
    return found;
  }

  /** Whatever its status; `ref` is a uuid or a slug. */
  async find(from: Pick<Tx, 'query'>, ref: string, viewerId: string | undefined): Promise<ListingDetail | undefined> {
    const known = isUuid(ref) ? byId : isSlug(ref) ? bySlug : null;
    const [row] = known ? await from.query<DetailRow>(known, [ref]) : [];
    return row && toDetail(row, this.platform.publicUrl, viewerId);
  }
}
