import {
  describeNeeding,
  startMarketplace,
  startPgBouncer,
  withClient,
  type PgBouncer,
  type RunningMarketplace,
} from '@market/testing';
import { admin } from '../support/admin.js';
import { expectBooksInOrder } from '../support/books.js';
import { callOnce, payFor, resultOf, withRelayId } from '../support/buyer.js';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent } from '../support/harness.js';

inEachMode('behind PgBouncer, pooling by transaction', ({ mode, databaseUrl }) => {
  describeNeeding('pgbouncer')('the marketplace', () => {
    let pooler: PgBouncer | undefined;
    let marketplace: RunningMarketplace;
    let shop: Shop;

    const newDatabase = async (): Promise<string> => {
      await withClient(databaseUrl, (client) => client.query('CREATE DATABASE pooled'));
      return new URL('/pooled', databaseUrl).href;
    };
    /** Migrates the database directly. @returns its URL through the pooler. */
    const pool = async (direct: string): Promise<string> => {
      expect(await admin({ DATABASE_URL: direct }, 'migrate')).toMatchObject({ code: 0 });
      pooler = await startPgBouncer(direct, 'transaction');
      return pooler.through(direct);
    };

    beforeAll(async () => {
      const direct = await newDatabase();
      const env = { DATABASE_POOLING: 'transaction', MIGRATE_ON_START: 'false', DATABASE_LOCK_URL: direct };
      marketplace =
        mode === 'distributed'
          ? await startMarketplace({ mode, env, databaseThrough: pool })
          : await startMarketplace({ mode, env: { ...env, DATABASE_URL: await pool(direct) } });
      shop = await openShop(await registerAgent(marketplace));
    }, 360_000);
    afterAll(async () => {
      await shop?.close();
      await marketplace?.stop();
      await pooler?.stop();
    }, 120_000);

    it('sells, charges each call once, and its books add up', async () => {
      const buyer = await registerAgent(marketplace);
      const calls = Array.from({ length: 20 }, async (_, n) => {
        const relayRequestId = await payFor(buyer, shop.listing, { n });
        const retry = () => callOnce(buyer, shop.listing, { n }, withRelayId(relayRequestId));
        return Promise.all([retry(), retry()]);
      });
      for (const answers of await Promise.all(calls))
        expect(answers.map((answer) => [answer.status, resultOf(answer).billable])).toEqual([
          [200, true],
          [200, true],
        ]);
      expect((await buyer.market.receipts.list({ role: 'buyer' })).pagination.total).toBe(20);
      const found = await buyer.market.listings.search({ q: shop.listing.name });
      expect(found.data.map(({ id }) => id)).toContain(shop.listing.id);
      await expectBooksInOrder({ databaseUrl: marketplace.databaseUrl }, [shop]);
    });
  });
});
