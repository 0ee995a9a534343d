import type { DatabaseDefinition } from '@market/persistence';
import { CreateLedger1763650000000 } from './migrations/1763650000000-create-ledger.js';
import { CreateSubscriptions1763670000000 } from './migrations/1763670000000-create-subscriptions.js';
import { CreateAuthorizations1763740000000 } from './migrations/1763740000000-create-authorizations.js';
import { WatchLateMoney1763750000000 } from './migrations/1763750000000-watch-late-money.js';
import { KeepUnitPrices1763760000000 } from './migrations/1763760000000-keep-unit-prices.js';

/** No entities: every statement here is prepared SQL, since every one is on the money path or a report over it. */
export const paymentsLedgerDatabase: DatabaseDefinition = {
  schema: 'payments_ledger',
  entities: [],
  migrations: [CreateLedger1763650000000, CreateSubscriptions1763670000000, CreateAuthorizations1763740000000, WatchLateMoney1763750000000, KeepUnitPrices1763760000000],
};
