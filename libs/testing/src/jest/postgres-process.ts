import { startPostgres } from '@market/embedded-postgres';
import { rm } from 'node:fs/promises';
import { temporaryDirectory } from '@market/test-servers';

/** Runs a PostgreSQL with temporary data, prints its URL in one line, and stops when standard input closes. */
const dataDir = await temporaryDirectory('postgres');
const postgres = await startPostgres({
  dataDir,
  settings: {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_connections: '300',
    shared_buffers: '128MB',
  },
});
process.stdin.resume().once('end', () => {
  void postgres.stop().then(() => rm(dataDir, { recursive: true, force: true }));
});
process.stdout.write(`${postgres.url}\n`);
