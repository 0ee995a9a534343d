import { newRequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { catalogConfig, type CatalogConfig } from '../config.js';
import { PayableSellers } from '../providers/payable-sellers.js';
import { Providers } from '../providers/providers.js';
import { SuspendOrResumeListings } from './suspend-or-resume-listings.js';

const BATCH_SIZE = 200;
/** Less than every id. */
const NIL_ID = '00000000-0000-0000-0000-000000000000';

interface Seller {
  id: string;
  is_unpayable: boolean;
}

const nextSellers = sql(
  'listings.next-sellers',
  `SELECT DISTINCT p.id, p.is_unpayable FROM listings l JOIN providers p ON p.id = l.provider_id
   WHERE l.price_micros > 0 AND (l.status = 'active' OR l.suspended_by = 'system') AND p.id > $1
   ORDER BY p.id LIMIT ${BATCH_SIZE}`,
);

/**
 * Suspends the paid listings of sellers that no configured route can pay, because they have disabled the wallet or the
 * operator takes other chains now, and resumes them when one can.
 */
@Injectable()
export class ReviewPayable implements OnModuleInit {
  /** The last seller that was looked at. */
  private after = NIL_ID;

  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
    private readonly payable: PayableSellers,
    private readonly providers: Providers,
    private readonly suspendOrResume: SuspendOrResumeListings,
    @Inject(catalogConfig.token) private readonly config: CatalogConfig,
  ) {}

  onModuleInit(): void {
    this.jobs.every('review which sellers can be paid', this.config.sweepIntervalMs, () => this.run());
  }

  /** Looks at the next sellers, and begins again after the last. */
  async run(): Promise<void> {
    const sellers = await this.database.query<Seller>(nextSellers, [this.after]);
    this.after = sellers.length < BATCH_SIZE ? NIL_ID : sellers.at(-1)!.id;
    if (sellers.length === 0) return;
    const context = newRequestContext();
    const ids = sellers.map(({ id }) => id);
    const unpayable = await this.payable.unpayableOf(ids, context);
    for (const { id } of sellers.filter((seller) => unpayable.has(seller.id) !== seller.is_unpayable)) {
      const isPayable = !unpayable.has(id);
      await this.database.transaction(async (tx) => {
        if (await this.providers.setPayable(tx, id, isPayable))
          await this.suspendOrResume.execute(tx, id, { suspend: !isPayable, onlyPaid: true }, context);
      });
    }
  }
}
