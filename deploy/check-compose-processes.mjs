#!/usr/bin/env node
/**
 * Runs docker-compose.yml without Docker. crun starts every container of the image as the file says (command, user,
 * read-only root, no capabilities, volumes, networks with or without internet access, order). The containers use
 * nats-server, redis-server and PostgreSQL of this machine, with the keys and logins that the first container creates.
 * Three gateways run, and paid calls succeed even when two of them end. Everything runs in its own namespaces. Needs
 * Debian and root, and `npm ci && npm run build` before.
 *   check-compose-processes.mjs [IMAGE], which is built if it is not given
 */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startPostgres } from '@market/embedded-postgres';
import { parseEnv, promisify } from 'node:util';
import { eventually, startOwnProcess, temporaryDirectory } from '@market/testing';
import { makeLogins } from './compose-logins.mjs';
import { readCompose } from './local/read-compose.mjs';

const PROJECT = fileURLToPath(new URL('..', import.meta.url));
const run = async (program, ...args) => (await promisify(execFile)(program, args, { cwd: PROJECT })).stdout.trim();
const GATEWAYS = ['gateway', 'gateway-2', 'gateway-3'];
/** The host part of this machine's addresses in both networks. */
const HOST = 1;

if (!process.env.MARKET_ALONE) {
  const image = process.argv[2] ?? 'agent-marketplace:local';
  if (!process.argv[2]) execFileSync(join(PROJECT, 'deploy/docker/build-image.sh'), [image], { stdio: 'inherit' });
  if (!(await run('sh', '-c', 'command -v crun || true')))
    await run('apt-get', 'install', '-y', '-qq', '--no-install-recommends', 'crun');
  const container = await run('buildah', 'from', '--pull-never', `localhost/${image}`);
  try {
    const alone = ['--net', '--mount', '--pid', '--mount-proc', '--fork', '--kill-child', '--', process.execPath];
    execFileSync('unshare', [...alone, fileURLToPath(import.meta.url)], {
      stdio: 'inherit',
      env: { ...process.env, MARKET_ALONE: await run('buildah', 'mount', container) },
    });
  } finally {
    await run('buildah', 'rm', container);
  }
} else await check(process.env.MARKET_ALONE);

async function check(root) {
  const text = readFileSync(join(PROJECT, 'docker-compose.yml'), 'utf8');
  const { services, networks } = readCompose(
    text.replaceAll(/ALLOW_PRIVATE_ENDPOINTS:-false/g, 'ALLOW_PRIVATE_ENDPOINTS:-true'),
  );
  const work = await temporaryDirectory('compose');
  const secrets = join(work, 'secrets');
  mkdirSync(secrets);
  await run('chown', '1000:1000', secrets);
  mkdirSync('/run/netns', { recursive: true });
  await run('mount', '-t', 'tmpfs', 'tmpfs', '/run/netns');
  // crun refuses a machine with both versions of cgroups, although none are used.
  await run('mount', '-t', 'tmpfs', 'tmpfs', '/sys/fs/cgroup');
  const crun = ['--cgroup-manager=disabled', '--root', join(work, 'crun')];
  const addresses = Object.keys(networks).map((network, index) => ({ network, prefix: `10.89.${index}` }));
  await run('ip', 'link', 'set', 'lo', 'up');
  for (const { network, prefix } of addresses) {
    await run('ip', 'link', 'add', network, 'type', 'bridge');
    await run('ip', 'address', 'add', `${prefix}.${HOST}/24`, 'dev', network);
    await run('ip', 'link', 'set', network, 'up');
  }
  const names = [...Object.keys(services), ...GATEWAYS.slice(1)];
  const numberOf = (name) => names.indexOf(name) + 2;
  /** Servers run on this machine. Like Docker's name server, it resolves a service to all its containers in turn. */
  const hosts = names.map((name) => `${addresses[0].prefix}.${services[name]?.build ? numberOf(name) : HOST} ${name}`);
  writeFileSync(join(work, 'hosts'), ['127.0.0.1 localhost', ...hosts, ''].join('\n'));

  /** Starts a container like Docker does; resolves when it has started. */
  const start = async (name, service = services[name]) => {
    await connectNetworks(name, service.networks);
    const directory = join(work, name);
    mkdirSync(directory);
    writeFileSync(join(directory, 'config.json'), JSON.stringify(specOf(name, service)));
    return startOwnProcess('crun', [...crun, 'run', '--bundle', directory, name]);
  };

  async function connectNetworks(name, joined) {
    await run('ip', 'netns', 'add', name);
    await run('ip', '-n', name, 'link', 'set', 'lo', 'up');
    for (const { network, prefix } of addresses.filter(({ network }) => joined.includes(network))) {
      const [here, there] = [`h${numberOf(name)}${network.slice(0, 3)}`, network];
      await run('ip', 'link', 'add', here, 'type', 'veth', 'peer', 'name', there, 'netns', name);
      await run('ip', 'link', 'set', here, 'master', network, 'up');
      await run('ip', '-n', name, 'address', 'add', `${prefix}.${numberOf(name)}/24`, 'dev', there);
      await run('ip', '-n', name, 'link', 'set', there, 'up');
      if (!networks[network]?.internal)
        await run('ip', '-n', name, 'route', 'add', 'default', 'via', `${prefix}.${HOST}`);
    }
  }

  function specOf(name, { entrypoint, command, user, read_only: readonly, environment = {}, volumes = [] }) {
    const [uid, gid] = user.split(':').map(Number);
    const image = {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      NODE_ENV: 'production',
      HOST: '0.0.0.0',
      PORT: '3000',
      DATA_DIR: '/data',
    };
    const bound = volumes.map((volume) =>
      typeof volume === 'string'
        ? { source: secrets, destination: volume.split(':')[1], options: ['bind'] }
        : { source: join(secrets, volume.volume.subpath), destination: volume.target, options: ['bind', 'ro'] },
    );
    return {
      ociVersion: '1.0.0',
      root: { path: root, readonly },
      hostname: name,
      process: {
        args: [...entrypoint, ...command],
        cwd: '/app',
        env: Object.entries({ ...image, ...environment }).map(([key, value]) => `${key}=${value}`),
        user: { uid, gid },
        noNewPrivileges: true,
        capabilities: {},
      },
      mounts: [
        { destination: '/proc', type: 'proc', source: 'proc' },
        { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755'] },
        { destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev'] },
        { source: join(work, 'hosts'), destination: '/etc/hosts', options: ['bind', 'ro'] },
        ...bound,
      ],
      linux: {
        namespaces: [
          ...['pid', 'mount', 'ipc', 'uts'].map((type) => ({ type })),
          { type: 'network', path: `/run/netns/${name}` },
        ],
      },
    };
  }

  const inside = (name, command) => run('crun', ...crun, 'exec', '--user', '1000:1000', name, ...command);
  const isHealthy = (name) =>
    eventually(() => inside(name, (services[name] ?? services.gateway).healthcheck.test.slice(1)), {
      withinMs: 90_000,
      everyMs: 500,
    });
  const completed = async (name) => {
    const container = await start(name);
    assert.equal(await container.ended, 0, `${name}: ${container.output()}`);
  };

  const running = {};
  const servers = [];
  try {
    await completed('make-secrets');
    servers.push(...(await startServers()));
    await completed('migrate');
    for (const name of ['identity', 'catalog', 'payments-ledger', ...GATEWAYS, 'reputation'])
      running[name] = await start(name, services[name] ?? services.gateway);
    await Promise.all(Object.keys(running).map(isHealthy));
    running['api-gateway'] = await start('api-gateway');
    await isHealthy('api-gateway');
    for (const name of Object.keys(running)) await isHeldTight(name);
    const buy = (...args) => run(process.execPath, 'deploy/smoke-call.mjs', ...args);
    Object.assign(process.env, {
      BASE_URL: `http://${addresses[0].prefix}.${numberOf('api-gateway')}:3000`,
      SELLER_HOST: `${addresses[1].prefix}.${HOST}`,
    });
    const key = await buy();
    console.log(
      `${Object.keys(running).length} containers run as the file says, three of them gateways; a paid call went through`,
    );
    for (const name of GATEWAYS.slice(1)) await stop(name);
    await buy();
    await buy(key);
    for (const name of Object.keys(running).reverse()) await stop(name);
    console.log('two gateways ended, and calls went on; every process ended with 0 on SIGTERM');
  } finally {
    for (const { output } of Object.values(running)) if (process.exitCode) console.error(output());
    for (const name of Object.keys(running)) await stop(name, 'KILL').catch(() => undefined);
    for (const server of servers.reverse()) await server.stop();
    rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  }

  async function stop(name, signal = 'TERM') {
    const { ended, output } = running[name];
    delete running[name];
    await run('crun', ...crun, 'kill', name, signal);
    const code = await ended;
    if (signal === 'TERM') assert.equal(code, 0, `${name}: ${output()}`);
  }

  async function isHeldTight(name) {
    const status = await inside(name, ['cat', '/proc/1/status']);
    assert.match(status, /^Uid:\t1000\t1000\t1000\t1000$/m, name);
    assert.match(status, /^CapEff:\t0+$/m, name);
    assert.match(status, /^NoNewPrivs:\t1$/m, name);
    await assert.rejects(inside(name, ['touch', '/app/written']), /Read-only file system/, name);
    assert.equal(await inside(name, ['ls', '/run/secrets']), 'env', name);
    const reachesOut = (services[name] ?? services.gateway).networks.includes('outside');
    assert.equal(
      await inside(name, ['node', '-p', 'os.networkInterfaces().outside !== undefined']),
      String(reachesOut),
      name,
    );
  }

  /**
   * Starts the servers of the compose file: programs of this machine with the configuration of the file, on this
   * machine's address.
   */
  async function startServers() {
    const store = join(work, 'nats');
    const conf = readFileSync(join(secrets, 'nats/nats.conf'), 'utf8')
      .replace('/data/jetstream', store)
      // Debian's nats-server is too old for this setting.
      .replace(/^.*sync_interval.*$/m, '');
    writeFileSync(join(work, 'nats.conf'), conf);
    const nats = startOwnProcess('nats-server', ['--config', join(work, 'nats.conf')]);
    const redis = startOwnProcess('redis-server', [
      ...services.redis.command.slice(1),
      '--requirepass',
      parseEnv(readFileSync(join(secrets, 'redis/env'), 'utf8')).REDIS_PASSWORD,
      '--protected-mode',
      'no',
      '--dir',
      work,
    ]);
    const postgres = await startPostgres({ dataDir: join(work, 'postgres'), settings: { max_connections: '200' } });
    const variables = parseEnv(readFileSync(join(secrets, 'postgres/env'), 'utf8'));
    await makeLogins(postgres, { ...services.postgres.environment, ...variables });
    const forward = createServer((socket) => {
      const other = connect(postgres.port, '127.0.0.1');
      socket.pipe(other).pipe(socket);
      for (const end of [socket, other]) end.on('error', () => [socket, other].forEach((each) => each.destroy()));
    }).listen(5432, `${addresses[0].prefix}.${HOST}`);
    await once(forward, 'listening');
    return [postgres, { stop: () => forward.close() }, nats, redis];
  }
}
