import { evmWallet, Marketplace } from '@market/sdk';
import {
  eventually,
  freePort,
  OPERATOR,
  startOwnProcess,
  temporaryDirectory,
  withClient,
  type OwnProcess,
} from '@market/testing';
import { rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { adminCommands } from '../../src/admin/commands.js';
import { admin, operatorsEnv } from '../support/admin.js';
import { callOnce, payFor, withRelayId } from '../support/buyer.js';
import { signIn } from '../support/fuzz/fixtures.js';
import { free } from '../support/listings.js';
import { inEachMode, inOneMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop, type Shop } from '../support/seller.js';

const STANDALONE = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

inEachMode('the commands of operators', (harness) => {
  const env = operatorsEnv(harness);
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;
  let operatorId: string;

  beforeAll(async () => {
    operatorId = (await signIn(harness, evmWallet(OPERATOR.key))).id;
    seller = await registerAgent(harness, { displayName: 'Watched over' });
    buyer = await registerAgent(harness);
    shop = await openShop(seller);
    await callOnce(buyer, shop.listing, {}, withRelayId(await payFor(buyer, shop.listing, {})));
  });
  afterAll(() => shop.close());

  /** Runs a command that must succeed, and returns its output. */
  const run = async (...words: string[]): Promise<string> => {
    const { code, output } = await admin(env, ...words);
    expect([words, code, output]).toEqual([words, 0, output]);
    return output;
  };

  it('ask the running marketplace as the account of the operator, whom the audit names', async () => {
    const { id, name } = shop.listing;
    const made = await seller.market.apiKeys.create({ name: 'Leaked', scopes: ['read'] });
    const [call] = (await buyer.market.gatewayRequests.list()).data;
    const done: [words: string[], prints: string][] = [
      [
        ['listing', 'suspend', shop.listing.slug, '--reason', 'first\tline'],
        `${id} (${name}) is suspended by operator`,
      ],
      [['listing', 'release', id], `${id} (${name}) is active`],
      [['agent', 'suspend', seller.id, '--reason', 'fraud'], `${seller.id} (Watched over) is suspended`],
      [['agent', 'release', seller.id, '--reason', 'none'], `${seller.id} (Watched over) is not suspended`],
      [['key', 'revoke', made.id, '--reason', 'leaked'], `${made.id} is revoked`],
    ];
    for (const [words, prints] of done) expect(await run(...words)).toBe(prints);

    const found = JSON.parse(await run('search', call!.id)) as { payments: { id: string }[] };
    const paymentId = found.payments[0]!.id;
    const shown: [words: string[], shows: object][] = [
      [['overview'], { services: expect.any(Array) as object[] }],
      [['agent', 'show', seller.id], { id: seller.id, display_name: 'Watched over' }],
      [['listing', 'show', id], { id, suspended_by: null }],
      [['payment', 'show', paymentId], { id: paymentId, state: 'completed' }],
      [['call', 'show', call!.id], { id: call!.id, status: 'succeeded' }],
    ];
    for (const [words, shows] of shown) expect(JSON.parse(await run(...words))).toMatchObject(shows);

    const entries = (await run('audit', '--last', '150')).split('\n').map((line) => line.trimEnd().split('\t'));
    expect(entries.length).toBeLessThanOrEqual(150);
    const ours = entries.filter(([, , , , subject]) =>
      [id, seller.id, made.id, paymentId, call!.id].includes(subject!),
    );
    expect(ours).toEqual(
      [
        ['catalog', 'listing suspend', id, '"first\\tline"'],
        ['catalog', 'listing release', id],
        ['identity', 'agent suspend', seller.id, '"fraud"'],
        ['identity', 'agent release', seller.id, '"none"'],
        ['identity', 'key revoke', made.id, '"leaked"'],
        ['identity', 'search', call!.id],
        ['identity', 'agent show', seller.id],
        ['identity', 'listing show', id],
        ['identity', 'payment show', paymentId],
        ['identity', 'call show', call!.id],
      ].map((entry) => [expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/) as string, operatorId, ...entry]),
    );
    const tried = [...done, ...shown].map(([words]) => words.slice(0, 2).join(' '));
    expect([...tried, 'search', 'audit'].sort()).toEqual(
      adminCommands
        .filter(({ worksOn }) => worksOn === 'http')
        .map(({ name }) => name)
        .sort(),
    );
  }, 240_000);

  it('sees a listing in any state, and shows nothing that steers a terminal', async () => {
    const { id, slug } = await seller.market.listings.create(free({ status: 'draft' }));
    expect(JSON.parse(await run('listing', 'show', slug))).toMatchObject({
      id,
      slug,
      slugs: [slug],
      status: 'draft',
      suspended_by: null,
      provider_id: seller.id,
    });
    await run('listing', 'suspend', slug, '--reason', 'Clears \u001b[2J\u009b2J and turns \u202e around.');
    const output = await run('audit');
    expect(output).toContain('Clears \\u001b[2J\\u009b2J and turns \\u202e around.');
    expect(output).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  });

  it('finds names that read the same', async () => {
    const name = `Same ${Date.now()}`;
    const [first, second] = [
      await seller.market.listings.create(free({ name })),
      await (await registerAgent(harness)).market.listings.create(free({ name: `ＳＡＭＥ-${name.slice(5)}` })),
    ];
    const { output } = await admin({ DATABASE_URL: harness.databaseUrl }, 'listing', 'duplicates');
    expect(output.split('\n').map((line) => line.split('\t'))).toContainEqual([
      '2',
      '2',
      expect.any(String),
      `${first.id} ${second.id}`,
    ]);
  });

  it.each<[what: string, env: Record<string, string>, words: string[], says: string]>([
    ['no such thing', {}, ['listing', 'suspend', 'no-such-listing', '--reason', 'x'], ': No such listing'],
    ['nothing to do', {}, ['listing', 'release', 'LISTING'], 'is active, and was so before: nothing changed'],
    ['no operator', { OPERATOR_KEY: evmWallet().exportKey() }, ['overview'], 'operator'],
    ['no key', { OPERATOR_KEY: '' }, ['overview'], 'OPERATOR_KEY or OPERATOR_KEY_FILE must give'],
    ['no private key', { OPERATOR_KEY: 'my-secret-0' }, ['overview'], 'OPERATOR_KEY is no private key'],
    [
      'nobody there',
      { MARKET_URL: 'http://127.0.0.1:9' },
      ['overview'],
      'http://127.0.0.1:9: The marketplace could not be reached',
    ],
    ['somebody else', {}, ['overview', '--as', 'ada'], "Unknown option '--as'"],
    ['how many', {}, ['audit', '--last', 'all'], '--last must be'],
  ])('end with 1 and why: %s', async (_what, changed, words, says) => {
    const named = words.map((word) => (word === 'LISTING' ? shop.listing.id : word));
    const { code, output } = await admin({ ...env, ...changed }, ...named);
    expect([code, output]).toEqual([1, expect.stringContaining(says)]);
    expect(output).not.toContain('my-secret');
  });

  it('leave no session behind', async () => {
    const sessions = () =>
      withClient(harness.databaseUrl, async (client) => {
        const { rows } = await client.query<{ count: string }>('SELECT count(*) FROM identity.sessions');
        return rows[0]!.count;
      });
    const before = await sessions();
    await run('overview');
    await admin(env, 'listing', 'show', 'no-such-listing');
    expect(await sessions()).toBe(before);
  });
});

inOneMode('an operator at no database', () => {
  it('is told what is wrong, and what there is', async () => {
    const { code, output } = await admin({}, 'listing', 'ban', 'x');
    const parts = [
      'there is no such command',
      'listing suspend <id\\|slug> --reason <text>',
      'listing release',
      'audit',
      'listing duplicates',
    ];
    expect([code, output]).toEqual([1, expect.stringMatching(parts.join('[\\s\\S]*'))]);
    expect((await admin({}, '--help')).code).toBe(0);
  });
});

inOneMode('an operator of a marketplace in a directory', () => {
  let directory: string;
  let port: number;
  let running: OwnProcess | undefined;
  const { PATH, HOME, TMPDIR } = process.env;
  const market = () => new Marketplace({ baseUrl: `http://127.0.0.1:${port}` });
  const operate = (...words: string[]) => admin({ DATA_DIR: directory }, ...words);

  async function start(): Promise<void> {
    const env = {
      PATH,
      HOME,
      TMPDIR,
      DATA_DIR: directory,
      PORT: String(port),
      OPERATORS: OPERATOR.address,
    };
    running = startOwnProcess(process.execPath, [STANDALONE], { env });
    await eventually(() => market().health(), { withinMs: 60_000, everyMs: 100 });
  }
  async function stop(): Promise<void> {
    await running?.stop('SIGTERM', 40_000);
    running = undefined;
  }

  beforeAll(async () => {
    [directory, port] = [await temporaryDirectory('operators'), await freePort()];
  });
  afterAll(async () => {
    await stop();
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  });

  it('works on its data whether it runs, is stopped or was killed, and is the user who typed unless another is named', async () => {
    expect(await operate('listings', 'seed', '--listings', '1')).toEqual({
      code: 1,
      output: expect.stringContaining(`no PostgreSQL in ${join(directory, 'postgres')}`) as string,
    });
    await start();
    expect((await operate('listings', 'seed', '--listings', '1')).code).toBe(0);
    await stop();
    expect((await operate('listings', 'seed', '--listings', '2', '--as', 'ada')).code).toBe(0);
    await start();
    await running!.stop('SIGKILL');
    expect((await operate('listings', 'seed', '--listings', '3')).code).toBe(0);
    await start();
    const audit = await admin(operatorsEnv(market()), 'audit');
    expect(audit.output.split('\n').map((line) => line.split('\t').slice(1, 5))).toEqual([
      [userInfo().username, 'catalog', 'listings seed', '1 listings'],
      ['ada', 'catalog', 'listings seed', '2 listings'],
      [userInfo().username, 'catalog', 'listings seed', '3 listings'],
    ]);
  }, 480_000);
});
