import { startMarketplace, type RunningMarketplace } from '@market/testing';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { startRelayServer, type RelayServer } from '../../../payments-ledger/test/support/relay-server.js';
import { expectBooksInOrder } from '../support/books.js';
import { inEachMode } from '../support/harness.js';
import { callsRows, keylessRows } from '../support/recoveries/calls-rows.js';
import { catalogRows } from '../support/recoveries/catalog-rows.js';
import { ELSEWHERE } from '../support/recoveries/elsewhere.js';
import { identityRows } from '../support/recoveries/identity-rows.js';
import { furtherPaymentsRows, paymentsRows } from '../support/recoveries/payments-rows.js';
import { OPEN_OFFERS, RELAY_ROUTES, relayRows } from '../support/recoveries/relay-rows.js';
import { rejectionRows, undoneRows } from '../support/recoveries/undone-rows.js';
import { declaredRecoveries, walk, World, type Rows } from '../support/recoveries/walk.js';

let relay: RelayServer;
const RELAY_ROWS = relayRows(() => relay);
const ROWS: Rows = { ...identityRows, ...catalogRows, ...callsRows, ...paymentsRows, ...undoneRows };
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** What happens by itself happens soon, and nothing is probed or expires meanwhile. */
const SOON = {
  PAYMENTS_LEDGER_SANDBOX_PENDING_SECONDS: '1',
  PAYMENTS_LEDGER_OFFER_TTL_SECONDS: '86400',
  PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '250',
  GATEWAY_RESUME_INTERVAL_MS: '250',
  GATEWAY_WAIT_FOR_RESULT_MS: '250',
  GATEWAY_PROBE_INTERVAL_MS: '3600000',
  CATALOG_SWEEP_INTERVAL_MS: '250',
};

/** Whoever is refused and does literally what the refusal says gets what it asked for, or is rightly told that it cannot. */
inEachMode('a recovery', ({ mode }) => {
  let marketplace: RunningMarketplace;
  let world: World;
  beforeAll(async () => {
    // It leaves behind what others' tests do not expect: calls that never end, answers that are gone.
    marketplace = await startMarketplace({ mode, env: SOON });
    world = new World({ ...marketplace, mode });
  }, 240_000);
  afterAll(async () => {
    // The rows of result_not_kept remove answers.
    await expectBooksInOrder(marketplace, [], { except: ['a completed payment whose answer is not kept'] });
    await world?.close();
    await marketplace?.stop();
  }, 120_000);

  it('has a row for everything that the OpenAPI document declares', async () => {
    const declared = await declaredRecoveries(world.anyone);
    const covered = [ROWS, RELAY_ROWS, ELSEWHERE].flatMap((rows) => Object.keys(rows));
    expect(declared.filter((key) => !covered.includes(key))).toEqual([]);
    expect(Object.keys(ELSEWHERE).filter((key) => !declared.includes(key))).toEqual([]);
    expect(new Set(covered).size).toBe(covered.length);
  });

  it.each(Object.entries(ELSEWHERE))('%s is followed by another test', async (key, { test, title }) => {
    const source = await readFile(`${ROOT}${test}`, 'utf8');
    expect(source).toContain(key.split(' ').at(-2));
    // The title stands in quotes of its own, after it( or on a line of its own.
    expect([`'${title}',`, `"${title}",`].some((quoted) => source.includes(quoted)) || title).toBe(true);
  });

  it.each(Object.keys(ROWS))('%s works when it is followed', async (key) => walk(key, await ROWS[key]!(world)));

  it.each(Object.keys(keylessRows))('%s works without a key', async (key) => walk(key, await keylessRows[key]!(world)));

  it.each(Object.keys(rejectionRows))('%s of a signature works', async (key) =>
    walk(key, await rejectionRows[key]!(world)),
  );

  it.each(Object.keys(furtherPaymentsRows))('%s works where else it comes from', async (key) =>
    walk(key, await furtherPaymentsRows[key]!(world)),
  );
});

inEachMode('a recovery where Relay alone is taken', ({ mode }) => {
  let marketplace: RunningMarketplace;
  let world: World;
  beforeAll(async () => {
    relay = await startRelayServer();
    marketplace = await startMarketplace({
      mode,
      env: {
        PAYMENTS_MODE: 'live',
        ALLOW_PRIVATE_ENDPOINTS: 'false',
        PAYMENTS_LEDGER_RELAY_URL: relay.url,
        PAYMENTS_LEDGER_RELAY_API_KEY: relay.apiKey,
        PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: '0x2222222222222222222222222222222222222222',
        PAYMENTS_LEDGER_RELAY_ROUTES: RELAY_ROUTES,
        PAYMENTS_LEDGER_OPEN_OFFERS_PER_BUYER: String(OPEN_OFFERS),
        PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 6).toString('base64'),
      },
    });
    world = new World({ ...marketplace, mode });
  }, 240_000);
  afterAll(async () => {
    await expectBooksInOrder(marketplace);
    await world?.close();
    await marketplace?.stop();
    relay?.stop();
  }, 120_000);

  it.each(Object.keys(RELAY_ROWS))('%s works when it is followed', async (key) =>
    walk(key, await RELAY_ROWS[key]!(world)),
  );
});
