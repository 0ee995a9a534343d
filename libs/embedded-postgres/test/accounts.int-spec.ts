import { spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../src/index.js';
import { findPlatformBinaries } from '../src/platform-binaries.js';
import { query } from './database.js';
import { startOwner } from './owner-process.js';

const NOBODY = 65534;
const isRoot = process.getuid?.() === 0;
const { postgres } = await findPlatformBinaries();
const nobodyReaches = isRoot && spawnSync('test', ['-x', postgres], { uid: NOBODY, gid: NOBODY }).status === 0;
const namespaces = spawnSync('unshare', ['-U', '--map-user=65534', 'true']).status === 0;

describe('an embedded PostgreSQL', () => {
  let base: string;

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'embedded-postgres-'));
  });

  afterEach(() => rm(base, { recursive: true }));

  async function runsTwice(dataDir: string, wrapper: string[]): Promise<void> {
    for (const statement of ['CREATE TABLE kept (n integer)', 'TABLE kept']) {
      const owner = startOwner([dataDir], wrapper);
      const { url } = await owner.ready;
      expect(await query(url, statement)).toEqual([]);
      expect(await owner.finish()).toBe(0);
    }
  }

  it('runs for a plain user, again too', async () => {
    if (nobodyReaches) await chown(base, NOBODY, NOBODY);
    await runsTwice(join(base, 'data'), plainUser());
    expect((await stat(join(base, 'data', 'cluster'))).uid).toBe(nobodyReaches ? NOBODY : process.getuid?.());
  });

  if (isRoot && namespaces) {
    it('runs for root below a directory that is closed to everyone else', async () => {
      await chmod(base, 0o700);
      const dataDir = join(base, 'data');
      const server = await startPostgres({ dataDir });
      expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await server.stop();
      expect((await stat(join(dataDir, 'cluster'))).uid).toBe(0);
    });

    it('says why root can not go on with its data once user namespaces are gone', async () => {
      const dataDir = join(base, 'data');
      await (await startPostgres({ dataDir })).stop();
      await expect(startOwner([dataDir], withoutNamespaces()).ready).rejects.toThrow(
        /belongs to uid 0[\s\S]*allow user namespaces/,
      );
    });
  }

  if (nobodyReaches) {
    it('runs as an existing user for root without user namespaces, and goes on as that user with them', async () => {
      await chmod(base, 0o755);
      const dataDir = join(base, 'data');
      await runsTwice(dataDir, withoutNamespaces());
      const { uid } = await stat(join(dataDir, 'cluster'));
      expect(uid).not.toBe(0);

      const server = await startPostgres({ dataDir });
      await server.stop();
      expect((await stat(join(dataDir, 'cluster'))).uid).toBe(uid);
    });

    it('tells a user which directory it may not write to', async () => {
      await chmod(base, 0o755);
      const dataDir = join(base, 'data');
      await mkdir(dataDir);
      await expect(startOwner([dataDir], plainUser()).ready).rejects.toThrow(/EACCES: permission denied.*data/);
    });
  }

  if (isRoot) {
    it('names every user it tried when root finds none that reaches the data', async () => {
      await chmod(base, 0o700);
      await expect(startOwner([join(base, 'data')], withoutNamespaces()).ready).rejects.toThrow(
        /uid 65534.*can't cd[\s\S]*Start as a plain user/,
      );
    });
  }
});

/** Nobody where that user reaches this checkout; else nobody in a user namespace, who may read what we may. */
function plainUser(): string[] {
  if (!isRoot) return [];
  return nobodyReaches
    ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups']
    : ['unshare', '-U', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`];
}

/** As in a container: `unshare` fails. */
function withoutNamespaces(): string[] {
  if (!namespaces) return [];
  return ['unshare', '-m', 'sh', '-c', 'mount --bind /bin/false "$(command -v unshare)" && exec "$@"', 'sh'];
}
