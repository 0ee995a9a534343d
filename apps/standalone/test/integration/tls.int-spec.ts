import { startPostgres, type EmbeddedPostgres } from '@market/embedded-postgres';
import { migrate } from '@market/persistence';
import {
  describeNeeding,
  eventually,
  freePort,
  startNatsServer,
  startRedisServer,
  temporaryDirectory,
  withClient,
  type NatsServer,
  type RedisServer,
} from '@market/testing';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { statefulServices } from '../../src/stateful-services.js';
import { admin } from '../support/admin.js';

function tests(): void {
  let directory: string;
  let postgres: EmbeddedPostgres;
  let nats: NatsServer;
  let redis: RedisServer;
  let env: Record<string, string>;
  const file = (name: string): string => join(directory, name);
  const openssl = (line: string) => execFileSync('openssl', line.split(' '), { cwd: directory, stdio: 'pipe' });

  beforeAll(async () => {
    directory = await temporaryDirectory('tls');
    await writeFile(file('names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
    openssl('req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ca.key -out ca.pem -subj /CN=Private');
    openssl('req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost');
    openssl('x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem');
    postgres = await startPostgres({ dataDir: file('postgres') });
    // PostgreSQL, which does not run as root, wants a key of its own.
    const { uid, gid } = await stat(file('postgres'));
    await chown(file('server.key'), uid, gid);
    await chmod(file('server.key'), 0o600);
    for (const [name, value] of Object.entries({
      ssl_cert_file: file('server.pem'),
      ssl_key_file: file('server.key'),
      ssl: 'on',
    }))
      await withClient(postgres.url, (client) => client.query(`ALTER SYSTEM SET ${name} = '${value}'`));
    await withClient(postgres.url, (client) => client.query('SELECT pg_reload_conf()'));
    await eventually(() =>
      withClient(postgres.url, async (client) =>
        expect((await client.query<{ ssl: string }>('SHOW ssl')).rows[0]).toEqual({ ssl: 'on' }),
      ),
    );
    for (const { database } of statefulServices) await migrate(database, postgres.url);
    nats = await startNatsServer({
      config: ({ port, storeDir }) =>
        `listen: "127.0.0.1:${port}"\nmax_payload: 9MB\njetstream { store_dir: "${storeDir}" }\n` +
        `tls { cert_file: "${file('server.pem')}", key_file: "${file('server.key')}" }\n`,
    });
    const tlsPort = String(await freePort());
    redis = await startRedisServer([
      ...['--tls-port', tlsPort, '--tls-auth-clients', 'no', '--tls-ca-cert-file', file('ca.pem')],
      ...['--tls-cert-file', file('server.pem'), '--tls-key-file', file('server.key')],
    ]);
    env = {
      ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      DATABASE_URL: `${postgres.url}?sslmode=verify-full`,
      NATS_URL: nats.url.replace('nats:', 'tls:'),
      REDIS_URL: `rediss://127.0.0.1:${tlsPort}`,
    };
  });
  afterAll(async () => {
    await Promise.all([postgres?.stop(), nats?.stop(), redis?.stop()]);
    await rm(directory, { recursive: true, force: true });
  });

  it('are used where NODE_EXTRA_CA_CERTS names it', async () => {
    const { code, output } = await admin(
      { ...env, NODE_EXTRA_CA_CERTS: file('ca.pem') },
      'doctor',
      '--service',
      'gateway',
    );
    expect(output.split('\n')).toEqual([
      'well\tvariables',
      'well\tdatabase of gateway',
      'well\tNATS of gateway',
      'well\tRedis',
    ]);
    expect(code).toBe(0);
  });

  it('are each refused by name where nothing does', async () => {
    const { code, output } = await admin(env, 'doctor', '--service', 'gateway');
    expect(output.split('\n')).toEqual([
      'well\tvariables',
      expect.stringMatching(/^wrong\tdatabase of gateway\tDATABASE_URL: the certificate of PostgreSQL is not accepted/),
      expect.stringMatching(/^wrong\tNATS of gateway\tNATS_URL: .*certificate/),
      expect.stringMatching(/^wrong\tRedis\tREDIS_URL: .*certificate/),
    ]);
    expect(code).toBe(1);
  });

  it('of PostgreSQL may be named in its URL, and carry the service then', async () => {
    const DATABASE_URL = `${postgres.url}?sslmode=verify-full&sslrootcert=${file('ca.pem')}`;
    expect(await admin({ DATABASE_URL }, 'listing', 'duplicates')).toEqual({ code: 0, output: '' });
    const plain = await admin({ DATABASE_URL: `${postgres.url}?sslmode=verify-full` }, 'listing', 'duplicates');
    expect(plain).toMatchObject({ code: 1, output: expect.stringMatching(/certificate/) as string });
  });

  it('of several hosts are not in one URL', async () => {
    const DATABASE_URL = 'postgres://market:my-secret@one:5432,two:5432/market';
    const { code, output } = await admin({ ...env, DATABASE_URL }, 'doctor', '--service', 'gateway');
    expect(output).toContain('DATABASE_URL: of gateway must be a URL with one host');
    expect(output).not.toContain('my-secret');
    expect(code).toBe(1);
  });
}

describeNeeding('openssl')('servers', () =>
  describeNeeding('redis-server')('over TLS', () =>
    describeNeeding('nats-server')('with certificates of a private authority', tests),
  ),
);
