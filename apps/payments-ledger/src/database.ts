import type { DatabaseDefinition } from '@market/persistence';
import { CreateLedger1763650000000 } from './migrations/1763650000000-create-ledger.js';
import { CreateSubscriptions1763670000000 } from './migrations/1763670000000-create-subscriptions.js';
import { CreateAuthorizations1763740000000 } from './migrations/1763740000000-create-authorizations.js';
import { WatchLateMoney1763750000000 } from './migrations/1763750000000-watch-late-money.js';
import { KeepUnitPrices1763760000000 } from './migrations/1763760000000-keep-unit-prices.js';
import { KeepKeylessOffers1763770000000 } from './migrations/1763770000000-keep-keyless-offers.js';
import { KeepReferences1763780000000 } from './migrations/1763780000000-keep-references.js';
import { FindByDepositAddress1763790000000 } from './migrations/1763790000000-find-by-deposit-address.js';

/** No entities: every statement here is prepared SQL, since every one is on the money path or a report over it. */
export const paymentsLedgerDatabase: DatabaseDefinition = {
  schema: 'payments_ledger',
  entities: [],
  migrations: [CreateLedger1763650000000, CreateSubscriptions1763670000000, CreateAuthorizations1763740000000, WatchLateMoney1763750000000, KeepUnitPrices1763760000000, KeepKeylessOffers1763770000000, KeepReferences1763780000000, FindByDepositAddress1763790000000],
};
