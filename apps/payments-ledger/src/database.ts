import { CreateOperatorActions1763660000000, type DatabaseDefinition } from '@market/persistence';
import { CreateLedger1763650000000 } from './migrations/1763650000000-create-ledger.js';

export const paymentsLedgerDatabase: DatabaseDefinition = {
  schema: 'payments_ledger',
  migrations: [CreateLedger1763650000000, CreateOperatorActions1763660000000],
  // Transactions that write to the journal run one after the other, and none waits for anything but PostgreSQL. A
  // transaction that is idle for this long belongs to a paused process; PostgreSQL rolls it back.
  settings: { idle_in_transaction_session_timeout: '2500' },
};
