import { CreateOperatorActions1763660000000, type DatabaseDefinition } from '@market/persistence';
import { CreateLedger1763650000000 } from './migrations/1763650000000-create-ledger.js';

export const paymentsLedgerDatabase: DatabaseDefinition = {
  schema: 'payments_ledger',
  migrations: [CreateLedger1763650000000, CreateOperatorActions1763660000000],
  // Whoever writes to the journal waits for the one before. No transaction here waits for anything but PostgreSQL, so one that does
  // nothing for so long belongs to a process that is paused, and is rolled back.
  settings: { idle_in_transaction_session_timeout: '2500' },
};
