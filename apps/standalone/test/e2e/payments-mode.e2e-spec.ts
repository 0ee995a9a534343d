import { startOwnProcess, temporaryDirectory } from '@market/testing';
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { inEachMode } from '../support/harness.js';

const LIVE = {
  PAYMENTS_MODE: 'live',
  PAYMENTS_LEDGER_RELAY_URL: 'http://127.0.0.1:1',
  PAYMENTS_LEDGER_RELAY_API_KEY: 'key',
  PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: '0x2222222222222222222222222222222222222222',
};

/** Starts a process on the database of the running marketplace, which must exit by itself. */
inEachMode('a process that is told to take real money', ({ mode, databaseUrl }) => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await temporaryDirectory('payments-mode');
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  const outcomeOf = async (env: Record<string, string>): Promise<[code: number | null, output: string]> => {
    const entry = fileURLToPath(
      new URL(`../../../${mode === 'standalone' ? 'standalone' : 'payments-ledger'}/dist/main.js`, import.meta.url),
    );
    const { PATH, HOME, TMPDIR } = process.env;
    const secrets = {
      ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      PAYMENTS_LEDGER_SIGNING_KEYS: randomBytes(32).toString('base64'),
    };
    const started = startOwnProcess(process.execPath, [entry], {
      env: {
        PATH,
        HOME,
        TMPDIR,
        DATABASE_URL: databaseUrl,
        DATA_DIR: dataDir,
        NATS_URL: 'nats://127.0.0.1:1',
        PORT: '0',
        ...secrets,
        ...env,
      },
    });
    return [await started.ended, started.output()];
  };

  it.each([
    [
      'on data that play money made',
      LIVE,
      new RegExp(
        '^the configuration is not usable:\n {2}- PAYMENTS_MODE: is live, and the data of [a-z, -]+ are sandbox; ' +
          'start with PAYMENTS_MODE=sandbox, or on another database \\(DATABASE_URL, DATA_DIR\\)\n$',
      ),
    ],
    [
      'without a rail',
      { PAYMENTS_MODE: 'live' },
      /^the configuration is not usable:\n {2}- PAYMENTS_MODE: live needs a payment rail, and none is turned on; [^\n]+\n$/,
    ],
  ])('does not start %s, and says so in a sentence', async (_name, env, said) => {
    expect(await outcomeOf(env)).toEqual([1, expect.stringMatching(said)]);
  });
});
