import { mkdir, readdir, realpath, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Client } from 'pg';
import { clusterIn } from './cluster.js';

/** Files that a server creates when it starts, and files of the server that runs. */
const LEFT_OUT = new Set(['postmaster.pid', 'postmaster.opts', 'pg_internal.init', 'backup_label', 'tablespace_map']);
/** Directories that must be there and whose contents are of no use to another server. */
const EMPTIED = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
  'pgsql_tmp',
]);

interface Stopped {
  last: string;
  labelfile: string;
}

/**
 * Copies the cluster of a running server with everything that was committed when the copy ended, by PostgreSQL's
 * low-level API for base backups. A server that starts on the copy replays the log that is copied with it.
 *
 * @param url of any database of the server, as a superuser.
 * @param into a directory that does not exist yet.
 * @param copy copies one file; a file that is gone by then was dropped and is not needed.
 */
export async function backUpCluster(
  url: string,
  dataDir: string,
  into: string,
  copy: (from: string, to: string) => Promise<void>,
): Promise<void> {
  const cluster = clusterIn(await realpath(dataDir));
  const client = new Client({ connectionString: url, application_name: 'market backup' });
  // The next statement reports a lost connection.
  client.on('error', () => undefined);
  await client.connect();
  try {
    // Keeps the log from being removed while it is needed; it is dropped with the connection.
    await client.query(
      `SELECT pg_create_physical_replication_slot('market_backup_' || pg_backend_pid(), immediately_reserve => true, temporary => true)`,
    );
    const started = await client.query<{ first: string }>(
      `SELECT pg_walfile_name(pg_backup_start('market', fast => true)) AS first`,
    );
    await copyDirectory(cluster, into, copy);
    const stopped = await client.query<Stopped>(
      `SELECT pg_walfile_name(lsn) AS last, labelfile FROM pg_backup_stop(wait_for_archive => false)`,
    );
    const { last, labelfile } = stopped.rows[0]!;
    await writeFile(join(into, 'backup_label'), labelfile, { mode: 0o600, flush: true });
    const segments = (await readdir(join(cluster, 'pg_wal'))).filter(
      (name) => /^[0-9A-F]{24}$/.test(name) && name >= started.rows[0]!.first && name <= last,
    );
    if (!segments.includes(last)) throw new Error(`the log of the backup has no segment ${last}`);
    for (const segment of segments) await copy(join(cluster, 'pg_wal', segment), join(into, 'pg_wal', segment));
  } finally {
    await client.end();
  }
}

async function copyDirectory(
  from: string,
  into: string,
  copy: (from: string, to: string) => Promise<void>,
): Promise<void> {
  await mkdir(into, { mode: 0o700 });
  if (EMPTIED.has(basename(from))) return;
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(into, entry.name)];
    if (LEFT_OUT.has(entry.name)) continue;
    if (entry.isDirectory()) await copyDirectory(source, target, copy);
    else if (entry.isFile())
      await copy(source, target).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
  }
}
