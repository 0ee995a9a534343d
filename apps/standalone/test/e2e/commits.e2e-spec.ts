import {
  startMarketplace,
  startPostgresProxy,
  withClient,
  type PostgresProxy,
  type RunningMarketplace,
} from '@market/testing';
import { countOf, TEST_SEED } from '@market/test-servers/threats';
import fc from 'fast-check';
import { expectBooksInOrder } from '../support/books.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { RetryingBuyer, type Purchase } from '../support/retrying-buyer.js';
import { openShop, type Shop } from '../support/seller.js';
import { takeTheMachine } from '../support/whole-machine.js';

const COMMITS = countOf('commits');
const BUYERS = 8;
/** One COMMIT of so many loses its connection, so that most requests end. */
const ONE_OF = 12;

inEachMode('commits of every service whose connection is lost', ({ mode, databaseUrl }) => {
  takeTheMachine();
  const database = new URL('/lost_commits', databaseUrl).href;
  let proxy: PostgresProxy;
  let marketplace: RunningMarketplace;
  let shop: Shop;
  let agents: Agent[];

  beforeAll(async () => {
    await withClient(databaseUrl, (client) => client.query('CREATE DATABASE lost_commits'));
    proxy = await startPostgresProxy(database);
    marketplace = await startMarketplace({
      mode,
      env: {
        DATABASE_URL: proxy.url,
        GATEWAY_RESUME_INTERVAL_MS: '250',
        PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '250',
        GATEWAY_FAILING_AFTER: '1000',
      },
    });
    shop = await openShop(await registerAgent(marketplace));
    agents = await Promise.all(Array.from({ length: BUYERS }, () => registerAgent(marketplace)));
  }, 240_000);
  afterAll(async () => {
    await shop?.close();
    await marketplace?.stop();
    await proxy?.stop();
  }, 120_000);

  it(
    `are made once or not at all, and every call is delivered and charged once (${COMMITS} commits, TEST_SEED=${TEST_SEED})`,
    async () => {
      const fates = fc.sample(
        fc.oneof(
          { arbitrary: fc.constant(undefined), weight: ONE_OF - 1 },
          { arbitrary: fc.constantFrom('before' as const, 'after' as const), weight: 1 },
        ),
        { seed: TEST_SEED, numRuns: 10_000 },
      );
      let [seen, lost] = [0, 0];
      proxy.loseAtCommit = () => {
        const fate = lost < COMMITS ? fates[(seen += 1) % fates.length] : undefined;
        if (fate) lost += 1;
        return fate;
      };
      const buyers = agents.map((agent) => new RetryingBuyer(agent, shop.listing));
      const finished: Purchase[] = [];
      await Promise.all(
        buyers.map(async (buyer, n) => {
          for (let call = 0; lost < COMMITS; call += 1) finished.push(await buyer.buy({ buyer: n, call }));
        }),
      );
      proxy.loseAtCommit = () => undefined;
      const statuses = new Set(buyers.flatMap((buyer) => [...buyer.statuses.keys()]));
      expect([...statuses].filter((status) => ![200, 202, 402, 503].includes(status))).toEqual([]);
      await expectBooksInOrder({ databaseUrl: database }, [shop], { withinMs: 90_000 });
      const delivered = new Set(finished.flatMap((purchase) => purchase.delivered));
      expect(delivered.size).toBe(finished.length);
    },
    240_000 + COMMITS * 3_000,
  );
});
