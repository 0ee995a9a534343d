import { getBalance, listLedger } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { eventually } from '@market/testing';
import { as, newOrder, startLedger, type LedgerHarness } from '../support/ledger-harness.js';

const CALLS = 200;

describe('balances, which two processes sum while calls are charged', () => {
  let harness: LedgerHarness;
  const [buyer, sellerId] = [newId(), newId()];

  beforeAll(async () => {
    harness = await startLedger({ replicas: 2 });
    for (let done = 40; done <= CALLS; done += 40) {
      const orders = Array.from({ length: 40 }, () => newOrder({ buyer }));
      await Promise.all(
        orders.map(async (order) =>
          harness.settle(await harness.authorized({ ...order, listing: { ...order.listing, sellerId } })),
        ),
      );
      // What was not summed yet counts in every answer.
      const { payable } = await harness.edge.request(getBalance, {}, as(sellerId));
      expect(payable.micros).toBe(String(237_500 * done));
      await harness.reconcile();
    }
  });
  afterAll(() => harness.stop());

  const summed = (): Promise<void> =>
    eventually(async () => {
      const [row] = await harness.db.inspect<{ missing: string }>(
        `SELECT h.sequence - u.sequence AS missing FROM payments_ledger.journal_head h, payments_ledger.balances_until u`,
      );
      expect(Number(row!.missing)).toBe(0);
    });

  it('have snapshots, so that a page of the ledger adds up few postings', async () => {
    await summed();
    const snapshots = await harness.db.inspect<{ account: string; snapshots: number }>(
      `SELECT account, count(*)::int AS snapshots FROM payments_ledger.balance_snapshots GROUP BY account`,
    );
    expect(snapshots.map(({ account }) => account).sort()).toEqual(
      [`agent:${buyer}:payments`, `agent:${sellerId}:earnings:sandbox:eip155:84532`, 'platform:fees'].sort(),
    );
  });

  it.each([1, 7, 50, 100])('are shown after each entry, on pages of %i', async (limit) => {
    const type = 'direct_payment' as const;
    let cursor: string | undefined;
    const seen: number[] = [];
    do {
      const page = await harness.edge.request(listLedger, { page: 1, limit, type, cursor }, as(buyer));
      seen.push(...page.items.map(({ balance_after_cents }) => balance_after_cents));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual(Array.from({ length: CALLS }, (_, index) => -25 * (CALLS - index)));
  });
});
