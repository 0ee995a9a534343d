import type { DatabaseDefinition } from '@market/persistence';
import { CreateLedger1763650000000 } from './migrations/1763650000000-create-ledger.js';

/** No entities: every statement here is prepared SQL, since every one is on the money path or a report over it. */
export const paymentsLedgerDatabase: DatabaseDefinition = {
  schema: 'payments_ledger',
  entities: [],
  migrations: [CreateLedger1763650000000],
};
