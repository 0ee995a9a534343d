import { evmWallet, Marketplace } from '@market/sdk';
import { eventually, freePort, startOwnProcess, temporaryDirectory, type OwnProcess } from '@market/testing';
import { rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { admin } from '../support/admin.js';
import { free } from '../support/listings.js';
import { inEachMode, inOneMode, registerAgent, stranger, type Agent } from '../support/harness.js';

const STANDALONE = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

inEachMode('an operator', (harness) => {
  const env = { DATABASE_URL: harness.databaseUrl };
  const anyone = stranger(harness).listings;
  let seller: Agent;

  beforeAll(async () => {
    seller = await registerAgent(harness, { displayName: 'Watched over' });
  });

  it('works with the URL of the one database concerned, and is the user who typed unless another is named', async () => {
    const { id } = await seller.market.listings.create(free());
    expect(
      (await admin({ CATALOG_DATABASE_URL: harness.databaseUrl }, 'listing', 'suspend', id, '--reason', 'first\tline'))
        .code,
    ).toBe(0);
    await eventually(() => expect(anyone.get(id)).rejects.toMatchObject({ status: 404 }));
    expect((await admin(env, 'listing', 'release', id, '--as', 'ada', '--reason', 'all is well')).code).toBe(0);
    await eventually(async () => expect((await anyone.get(id)).status).toBe('active'));

    const { code, output } = await admin(env, 'audit', '--last', '1000');
    const entries = output
      .split('\n')
      .map((line) => line.split('\t'))
      .filter((entry) => entry[4] === id);
    expect([code, entries]).toEqual([
      0,
      [
        [
          expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/) as string,
          userInfo().username,
          'catalog',
          'listing suspend',
          id,
          '"first\\tline"',
        ],
        [expect.any(String) as string, 'ada', 'catalog', 'listing release', id, '"all is well"'],
      ],
    ]);
  });

  it('sees a listing in any state, whatever its seller wrote to steer a terminal', async () => {
    const { id, slug } = await seller.market.listings.create(
      free({ status: 'draft', description: 'Clears \u001b[2J\u009b2J and turns \u202e around.' }),
    );
    const { code, output } = await admin(env, 'listing', 'show', slug);
    expect([code, JSON.parse(output)]).toEqual([
      0,
      expect.objectContaining({
        id,
        slug,
        slugs: [slug],
        status: 'draft',
        suspended_by: null,
        provider_id: seller.id,
        description: 'Clears \u001b[2J\u009b2J and turns \u202e around.',
      }),
    ]);
    expect(output).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  });

  it('finds names that read the same', async () => {
    const name = `Same ${Date.now()}`;
    const [first, second] = [
      await seller.market.listings.create(free({ name })),
      await (await registerAgent(harness)).market.listings.create(free({ name: `ＳＡＭＥ-${name.slice(5)}` })),
    ];
    const { output } = await admin(env, 'listing', 'duplicates');
    expect(output.split('\n').map((line) => line.split('\t'))).toContainEqual([
      '2',
      '2',
      expect.any(String),
      `${first.id} ${second.id}`,
    ]);
  });

  it('is told that there is no such listing', async () => {
    expect(await admin(env, 'listing', 'suspend', 'no-such-listing', '--reason', 'x')).toEqual({
      code: 1,
      output: expect.stringContaining('there is no listing no-such-listing') as string,
    });
  });
});

inOneMode('an operator at no database', () => {
  it('is told what is wrong, and what there is', async () => {
    const { code, output } = await admin({}, 'listing', 'ban', 'x');
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(
        /there is no such command[\s\S]*listing suspend <id\|slug> --reason <text>[\s\S]*listing release[\s\S]*listing show[\s\S]*listing duplicates[\s\S]*audit/,
      ),
    ]);
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
      REGISTRATION_POW_DIFFICULTY: '1',
      LISTING_POW_DIFFICULTY: '1',
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

  it('needs it neither running nor stopped, and what is done is known to it either way', async () => {
    expect(await operate('audit')).toEqual({
      code: 1,
      output: expect.stringContaining(`no PostgreSQL in ${join(directory, 'postgres')}`) as string,
    });
    await start();
    const { marketplace } = await market().register(evmWallet());
    const { id, slug } = await marketplace.listings.create(free());
    expect((await operate('listing', 'suspend', slug, '--reason', 'while it runs')).output).toMatch(
      'active -> held_as_active',
    );
    await eventually(() => expect(market().listings.get(id)).rejects.toMatchObject({ status: 404 }));

    await stop();
    expect((await operate('listing', 'release', id, '--reason', 'while it is stopped')).output).toMatch(
      'held_as_active -> active',
    );
    expect((await operate('audit')).output.split('\n').map((line) => line.split('\t').at(-1))).toEqual([
      '"while it runs"',
      '"while it is stopped"',
    ]);

    expect(await operate('audit', '--last', 'all')).toEqual({
      code: 1,
      output: expect.stringContaining('--last must be') as string,
    });

    await start();
    expect((await market().listings.get(id)).status).toBe('active');
    await running!.stop('SIGKILL');
    expect((await operate('listing', 'suspend', id, '--reason', 'after it was killed')).output).toMatch(
      'active -> held_as_active',
    );
  }, 240_000);
});
