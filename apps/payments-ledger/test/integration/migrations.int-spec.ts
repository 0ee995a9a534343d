import { migrate } from '@market/persistence';
import { freshDatabase, type FreshDatabase } from '@market/testing';
import { paymentsLedgerDatabase } from '../../src/database.js';

describe('the schema of payments-ledger', () => {
  let db: FreshDatabase;
  beforeAll(async () => {
    db = await freshDatabase(paymentsLedgerDatabase);
  });
  afterAll(() => db.drop());

  it('is up to date after one run', async () => {
    expect(await migrate(paymentsLedgerDatabase, db.url)).toEqual([]);
  });

  it('lets the service change no table, only rows', async () => {
    await expect(db.database.read((manager) => manager.query('ALTER TABLE postings DISABLE TRIGGER ALL'))).rejects.toThrow('must be owner');
  });

  it('goes when its migrations are undone', async () => {
    const runner = db.database.dataSource.createQueryRunner();
    await runner.query('SET ROLE NONE');
    for (const Migration of [...paymentsLedgerDatabase.migrations].reverse()) await new Migration().down(runner);
    await runner.query('RESET ROLE');
    await runner.release();
    const left = await db.inspect<{ name: string }>("SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'payments_ledger' UNION ALL SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'payments_ledger' ORDER BY 1");
    expect(left.map(({ name }) => name)).toEqual(['dead_letters', 'idempotency_keys', 'inbox', 'migrations', 'outbox', 'parked_events', 'payments_mode']);
  });
});
