import { SERVICE_NAMES, topology, type ServiceName, type ServiceTopology } from '@market/contracts';
import { edgePublicKey, natsPublicKeys, natsServerConfig } from '@market/messaging';
import { migrate } from '@market/persistence';
import { diagnose, type Environment } from '@market/runtime';
import {
  createDatabase,
  describeNeeding,
  freePort,
  startNatsServer,
  startRedisServer,
  temporaryDirectory,
  withClient,
} from '@market/testing';
import { createUser } from '@nats-io/nkeys';
import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { startEvmHarness, type EvmHarness } from '../../../payments-ledger/test/support/evm-harness.js';
import { startRelayServer, type RelayServer } from '../../../payments-ledger/test/support/relay-server.js';
import { statefulServices } from '../../src/stateful-services.js';
import { services } from '../../src/services.js';
import { admin } from '../support/admin.js';

const OPERATOR = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';

/** The problems that the doctor reports. */
const problemsWith = async (env: Environment): Promise<string[]> =>
  (await diagnose(services, env)).flatMap(({ subject, problems }) =>
    problems.map((problem) => `${subject}: ${problem}`),
  );

let databaseUrl: string;
let base: Environment;
beforeAll(async () => {
  databaseUrl = await createDatabase();
  for (const { database } of statefulServices) await migrate(database, databaseUrl);
  base = {
    DATABASE_URL: databaseUrl,
    ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    PAYMENTS_LEDGER_SIGNING_KEYS: randomBytes(32).toString('base64'),
  };
});

describe('doctor: variables and databases', () => {
  it('finds nothing wrong where nothing is, and says what it looked at', async () => {
    const { code, output } = await admin(base as Record<string, string>, 'doctor');
    expect(output.split('\n')).toEqual([
      'well\tvariables',
      ...['identity', 'catalog', 'payments-ledger', 'gateway', 'reputation'].map((name) => `well\tdatabase of ${name}`),
    ]);
    expect(code).toBe(0);
  });

  it('reads secrets from files, as every process does', async () => {
    const directory = await temporaryDirectory('secrets');
    const env: Record<string, string> = {};
    for (const [name, value] of Object.entries(base)) {
      env[`${name}_FILE`] = join(directory, name);
      await writeFile(env[`${name}_FILE`]!, `${value}\n`);
    }
    expect(await admin(env, 'doctor', '--service', 'payments-ledger')).toEqual({
      code: 0,
      output: 'well\tvariables\nwell\tdatabase of payments-ledger',
    });
    await rm(directory, { recursive: true });
    expect(await admin(env, 'doctor')).toMatchObject({
      code: 1,
      output: expect.stringContaining('ENCRYPTION_KEYS_FILE: the file cannot be read (ENOENT)') as string,
    });
  });

  it('asks about a variable that is nearly one, and shows no value', async () => {
    expect(await admin({ ...base, DATABSE_URL: 'postgres://secret' } as Record<string, string>, 'doctor')).toEqual({
      code: 0,
      output: expect.stringMatching(
        /^risky\tvariables\tDATABSE_URL is unknown; did you mean DATABASE_URL\?\nwell/,
      ) as string,
    });
  });

  it('ends with 1 and names a wrong variable, and looks at one service where one is named', async () => {
    const env = { ...base, PORT: 'x' } as Record<string, string>;
    const { code, output } = await admin(env, 'doctor', '--service', 'api-gateway');
    expect(output).toMatch(/^wrong\tvariables\tPORT: must be an integer/);
    expect(code).toBe(1);
    expect((await admin(env, 'doctor', '--service', 'catalog')).code).toBe(0);
    expect((await admin(env, 'doctor', '--service', 'shop')).output).toMatch(/^--service must be one of identity, /);
  });

  it('names every missing secret', async () => {
    expect(await problemsWith({ DATABASE_URL: databaseUrl })).toEqual([
      expect.stringMatching(/^variables: PAYMENTS_LEDGER_SIGNING_KEYS: is required/),
      expect.stringMatching(/^variables: ENCRYPTION_KEYS: is required/),
    ]);
  });

  it('says that nothing answers at the URL of one service, and not the password in it', async () => {
    const url = `postgres://market:secret-word@127.0.0.1:${await freePort()}/market`;
    const { code, output } = await admin({ ...base, GATEWAY_DATABASE_URL: url } as Record<string, string>, 'doctor');
    expect(output).toMatch(/^wrong\tdatabase of gateway\t.*nothing answers there; check GATEWAY_DATABASE_URL\.$/m);
    expect(output).not.toContain('secret-word');
    expect(code).toBe(1);
  });

  it('says what a login may not do', async () => {
    const login = `login_${randomBytes(4).toString('hex')}`;
    await withClient(databaseUrl, (client) => client.query(`CREATE ROLE ${login} LOGIN PASSWORD 'p'`));
    const url = Object.assign(new URL(databaseUrl), { username: login, password: 'p' }).href;
    expect(await problemsWith({ ...base, REPUTATION_DATABASE_URL: url })).toEqual([
      'database of reputation: DATABASE_URL: the login is not a member of market_reputation; GRANT market_reputation to it',
    ]);
    const empty = Object.assign(new URL(await createDatabase()), { username: login, password: 'p' }).href;
    expect(await problemsWith({ ...base, REPUTATION_DATABASE_URL: empty })).toEqual([
      expect.stringMatching(/^database of reputation: DATABASE_URL: the login may not create the role and the schema/),
    ]);
  });

  it('says where a schema is not up to date, and nobody will migrate it', async () => {
    const url = await createDatabase();
    const env = { ...base, CATALOG_DATABASE_URL: url, MIGRATE_ON_START: 'false' };
    expect(await problemsWith({ ...env, MIGRATE_ON_START: 'true' })).toEqual([]);
    expect(await problemsWith(env)).toEqual([
      'database of catalog: MIGRATE_ON_START: is false, and there is no schema catalog yet; run market-admin migrate',
    ]);
    const catalog = statefulServices.find(({ name }) => name === 'catalog')!.database;
    await migrate({ ...catalog, migrations: [] }, url);
    expect(await problemsWith(env)).toEqual([
      expect.stringMatching(
        /^database of catalog: MIGRATE_ON_START: the schema catalog lacks the migrations CreateCatalog\w*, /,
      ),
    ]);
  });

  it('says where the data are of the other payments mode', async () => {
    const url = await createDatabase();
    const gateway = statefulServices.find(({ name }) => name === 'gateway')!.database;
    await migrate(gateway, url);
    await withClient(url, (client) => client.query("INSERT INTO gateway.payments_mode (mode) VALUES ('live')"));
    expect(await problemsWith({ ...base, GATEWAY_DATABASE_URL: url, DATABASE_LOCK_URL: url })).toEqual([
      'database of gateway: PAYMENTS_MODE: is sandbox, and the data are live; start with PAYMENTS_MODE=live, or on another database',
    ]);
  });
});

describeNeeding('redis-server')('doctor: Redis', () => {
  it('says that it is away', async () => {
    const redis = await startRedisServer();
    const env = { ...base, REDIS_URL: redis.url };
    expect(await problemsWith(env)).toEqual([]);
    await redis.stop();
    expect(await problemsWith(env)).toEqual(
      Array.from({ length: 2 }, () =>
        expect.stringMatching(/^Redis: REDIS_URL: Redis cannot be used \(.*ECONNREFUSED/),
      ),
    );
  });
});

describeNeeding('nats-server')('doctor: NATS', () => {
  const seeds = Object.fromEntries(
    SERVICE_NAMES.map((service) => [service, new TextDecoder().decode(createUser().getSeed())]),
  );
  const publicKeys = Object.fromEntries(SERVICE_NAMES.map((service) => [service, natsPublicKeys(seeds[service]!)]));
  const envOf = (url: string): Environment => ({
    ...base,
    NATS_URL: url,
    NATS_EDGE_KEY: edgePublicKey(seeds['api-gateway']!),
    ...Object.fromEntries(
      SERVICE_NAMES.map((service) => [`${service.toUpperCase().replaceAll('-', '_')}_NATS_NKEY_SEED`, seeds[service]!]),
    ),
  });
  const withServer = async (
    config: (place: { port: number; storeDir: string }) => string,
    look: (url: string) => Promise<void>,
  ): Promise<void> => {
    const server = await startNatsServer({ config });
    await look(server.url).finally(() => server.stop());
  };

  it('finds nothing wrong with the generated permissions, and says whose key is refused', () =>
    withServer(
      (place) => natsServerConfig(publicKeys, place),
      async (url) => {
        expect(await problemsWith(envOf(url))).toEqual([]);
        const stranger = new TextDecoder().decode(createUser().getSeed());
        expect(await problemsWith({ ...envOf(url), CATALOG_NATS_NKEY_SEED: stranger })).toEqual([
          expect.stringMatching(/^NATS of catalog: NATS_NKEY_SEED: the server knows no user with this key/),
        ]);
      },
    ));

  it('names what a service may not subscribe to', () => {
    const old: Record<ServiceName, ServiceTopology> = {
      ...topology,
      'api-gateway': { ...topology['api-gateway'], subscribes: topology['api-gateway'].subscribes.slice(1) },
    };
    return withServer(
      (place) => natsServerConfig(publicKeys, { ...place, topology: old }),
      async (url) => {
        const { subject } = topology['api-gateway'].subscribes[0]!;
        expect(await problemsWith(envOf(url))).toEqual([
          `NATS of api-gateway: NATS_NKEY_SEED: its user may not subscribe to ${subject}; ` +
            'run deploy/nats/generate-keys.mjs again and reload the server',
        ]);
      },
    );
  });

  it('says that messages are too small, and that JetStream is off', () =>
    withServer(
      ({ port }) => `listen: "127.0.0.1:${port}"\nmax_payload: 1MB\n`,
      async (url) => {
        const problems = await problemsWith({ ...base, NATS_URL: url });
        expect(problems).toContainEqual(
          'NATS of catalog: NATS_URL: the server carries messages of 1048576 bytes; set its max_payload to 9437184',
        );
        expect(problems).toContainEqual(expect.stringMatching(/^NATS of catalog: NATS_URL: JetStream does not answer/));
      },
    ));

  it('says that nothing answers', async () => {
    const problems = await problemsWith({ ...base, NATS_URL: `nats://127.0.0.1:${await freePort()}` });
    expect(problems).toHaveLength(SERVICE_NAMES.length);
    for (const problem of problems)
      expect(problem).toMatch(/^NATS of .*: NATS_URL: what is there cannot be used \(.*ECONNREFUSED/);
  });
});

describe('doctor: rails', () => {
  let chain: EvmHarness;
  let usdc: string;
  let relay: RelayServer;
  const kinds = [{ x402Version: 2, scheme: 'exact', network: 'eip155:31337' }];
  const facilitator = createServer((request, response) =>
    request.headers.authorization === 'Bearer right' && request.url === '/supported'
      ? void response.end(JSON.stringify({ kinds, extensions: [], signers: {} }))
      : void response.writeHead(request.url === '/supported' ? 401 : 404).end(),
  );
  let env: Environment;
  beforeAll(async () => {
    [chain, relay] = await Promise.all([startEvmHarness(), startRelayServer()]);
    usdc = await chain.deploy('SignedToken');
    await new Promise<void>((resolve) => facilitator.listen(0, '127.0.0.1', resolve));
    env = {
      ...base,
      IDENTITY_EVM_RPC_URLS: `31337=${chain.node.url}`,
      PAYMENTS_LEDGER_X402_CHAINS: `eip155:31337=${chain.node.url}`,
      PAYMENTS_LEDGER_X402_USDC: `eip155:31337=${usdc}`,
      PAYMENTS_LEDGER_FEE_ADDRESS: OPERATOR,
      PAYMENTS_LEDGER_X402_FACILITATOR_URL: `http://127.0.0.1:${(facilitator.address() as AddressInfo).port}`,
      PAYMENTS_LEDGER_X402_FACILITATOR_API_KEY: 'right',
      PAYMENTS_LEDGER_RELAY_URL: relay.url,
      PAYMENTS_LEDGER_RELAY_API_KEY: relay.apiKey,
      PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: OPERATOR,
    };
  });
  afterAll(async () => {
    facilitator.close().closeAllConnections();
    await Promise.all([chain.stop(), relay.stop()]);
  });

  it('finds nothing wrong where nothing is', async () => expect(await problemsWith(env)).toEqual([]));

  it.each<[string, (good: Environment) => Environment, RegExp]>([
    [
      'an RPC server of another chain',
      ({ IDENTITY_EVM_RPC_URLS: url }) => ({ IDENTITY_EVM_RPC_URLS: url!.replace('31337=', '8453=') }),
      /^RPC server .* of chain 8453: IDENTITY_EVM_RPC_URLS: the server of chain 8453 serves chain 31337$/,
    ],
    [
      'an RPC server that is none',
      () => ({ IDENTITY_EVM_RPC_URLS: `31337=${relay.url}` }),
      /^RPC server .* of chain 31337: IDENTITY_EVM_RPC_URLS: what is there cannot be used \(it answers 404\)$/,
    ],
    [
      'a facilitator that is not there',
      () => ({ PAYMENTS_LEDGER_X402_FACILITATOR_URL: 'http://127.0.0.1:2' }),
      /^facilitator .*: PAYMENTS_LEDGER_X402_FACILITATOR_URL: what is there cannot be used \(connect ECONNREFUSED/,
    ],
    [
      'an OpenID provider that is none',
      () => ({ OIDC_ISSUER: relay.url, OIDC_CLIENT_ID: 'market' }),
      /^OpenID provider .*: OIDC_ISSUER: what is there cannot be used /,
    ],
    [
      'a token that is not there',
      () => ({ PAYMENTS_LEDGER_X402_USDC: `eip155:31337=${OPERATOR}` }),
      /^RPC server .*: PAYMENTS_LEDGER_X402_USDC: there is no token at 0x209693Bc6afc0C5328bA36FaF03C514EF312287C on chain 31337$/,
    ],
    [
      'a token of another name',
      () => ({ PAYMENTS_LEDGER_X402_EIP712: 'eip155:31337=USD Coin:2' }),
      /^name and version of USDC .*: PAYMENTS_LEDGER_X402_EIP712: .* does not take signatures for USD Coin:2; it calls itself USDC:2$/,
    ],
    [
      'a key that the facilitator refuses',
      () => ({ PAYMENTS_LEDGER_X402_FACILITATOR_API_KEY: 'wrong' }),
      /^facilitator .*: PAYMENTS_LEDGER_X402_FACILITATOR_API_KEY: the facilitator refuses it \(401\)$/,
    ],
    [
      'a facilitator that is none',
      () => ({ PAYMENTS_LEDGER_X402_FACILITATOR_URL: relay.url }),
      /^facilitator .*: PAYMENTS_LEDGER_X402_FACILITATOR_URL: what answers there \(404\) is no x402 facilitator$/,
    ],
    [
      'a chain that the facilitator does not settle on',
      () => ({
        PAYMENTS_LEDGER_X402_CHAINS: 'eip155:31337,eip155:8453',
        PAYMENTS_LEDGER_X402_EIP712: 'eip155:31337=USDC:2',
      }),
      /^facilitator .*: the facilitator does not settle exact payments on eip155:8453$/,
    ],
    [
      'a key that Relay refuses',
      () => ({ PAYMENTS_LEDGER_RELAY_API_KEY: 'wrong' }),
      /^Relay .*: PAYMENTS_LEDGER_RELAY_API_KEY: Relay refuses it \(401\)$/,
    ],
    [
      'a chain that Relay does not serve',
      () => ({ PAYMENTS_LEDGER_RELAY_DESTINATION: 'eip155:10:USDC' }),
      /^Relay .*: PAYMENTS_LEDGER_RELAY_DESTINATION: Relay does not serve eip155:10$/,
    ],
  ])('finds %s, and nothing else', async (_, change, sentence) => {
    expect(await problemsWith({ ...env, ...change(env) })).toEqual([expect.stringMatching(sentence)]);
  });

  it('warns of a chain without an RPC server', async () => {
    const { code, output } = await admin(
      { ...env, PAYMENTS_LEDGER_X402_CHAINS: 'eip155:31337', PAYMENTS_LEDGER_X402_EIP712: 'eip155:31337=USDC:2' },
      'doctor',
    );
    expect([code, output]).toEqual([
      0,
      expect.stringMatching(/^risky\tRPC server of eip155:31337\t.* names no RPC server/m),
    ]);
  });

  it('finds a token with other decimals than USDC', async () => {
    // Code that returns the word 18.
    await chain.node.request('anvil_setCode', [OPERATOR, '0x601260005260206000f3']);
    expect(await problemsWith({ ...env, PAYMENTS_LEDGER_X402_USDC: `eip155:31337=${OPERATOR}` })).toEqual([
      expect.stringMatching(/has 18 decimals, and USDC has 6$/),
    ]);
  });

  it('finds a server whose chain stands still', async () => {
    const past = await startEvmHarness();
    // Sets the chain's clock back by an hour.
    await past.node.request('anvil_setTime', [Math.floor(Date.now() / 1_000) - 3_600]).catch(() => undefined);
    await past.node.mine(1);
    const problems = await problemsWith({ ...env, IDENTITY_EVM_RPC_URLS: `31337=${past.node.url}` });
    await past.stop();
    expect(problems).toEqual([
      expect.stringMatching(/the newest block of the server of chain 31337 is 3\d{3} seconds old/),
    ]);
  });
});
