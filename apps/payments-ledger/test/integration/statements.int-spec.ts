import { getStatement, listLedger } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import fc from 'fast-check';
import { as, newOrder, startLedger, type LedgerHarness } from '../support/ledger-harness.js';

const THIS_MONTH = new Date().toISOString().slice(0, 7);

describe('a statement', () => {
  let harness: LedgerHarness;
  beforeAll(async () => {
    harness = await startLedger();
  });
  /** The tests change stored rows. */
  afterAll(() => harness.stop({ checkBooks: false }));

  it('is what the ledger says of its month, to the micro, whatever was bought, sold and owed back in it and before', async () => {
    const trade = fc.record({
      buys: fc.boolean(),
      micros: fc.integer({ min: 100_000, max: 9_999_999 }),
      outcome: fc.constantFrom('paid' as const, 'late' as const, 'overpaid' as const),
      isOfLastMonth: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(trade, { minLength: 1, maxLength: 6 }), async (trades) => {
        const [who, other] = [newId(), newId()];
        for (const { buys, micros, outcome, isOfLastMonth } of trades) {
          const order = newOrder({ buyer: buys ? who : other, priceMicros: String(micros) });
          order.listing.sellerId = buys ? other : who;
          const offered = await harness.quote(order);
          await harness.pay(order, offered, outcome);
          const claim = await harness.authorize(order, offered);
          if (claim.outcome === 'authorized') await harness.settle(claim);
          if (isOfLastMonth)
            await harness.db.inspect(
              `BEGIN; SET LOCAL session_replication_role = replica;
               UPDATE payments_ledger.journal_transactions SET recorded_at = recorded_at - interval '31 days'
               WHERE payment_id = '${offered.offer.payment_id}';
               COMMIT`,
            );
        }
        const months = [new Date(Date.now() - 31 * 86_400_000).toISOString().slice(0, 7), THIS_MONTH];
        let before = 0n;
        for (const month of months) {
          const statement = await harness.edge.request(getStatement, { month, page: 1, limit: 100 }, as(who));
          const { from, to, opening_balance, closing_balance, accounts, entries, totals } = statement;
          const ledger = await harness.edge.request(listLedger, { from, to, page: 1, limit: 100 }, as(who));
          expect(entries).toEqual(ledger);
          const micros = (items: typeof ledger.items): bigint =>
            items.reduce(
              (sum, { direction, amount_cents }) =>
                sum + (direction === 'credit' ? 1n : -1n) * BigInt(Math.round(amount_cents * 10_000)),
              0n,
            );
          const of = (keep: (entry: (typeof ledger.items)[number]) => boolean): string =>
            String([micros(ledger.items.filter(keep))].map((sum) => (sum < 0n ? -sum : sum))[0]);
          expect(BigInt(opening_balance.micros)).toBe(before);
          expect(BigInt(closing_balance.micros) - before).toBe(micros(ledger.items));
          expect(accounts.reduce((sum, account) => sum + BigInt(account.closing_balance.micros), 0n)).toBe(
            BigInt(closing_balance.micros),
          );
          expect([totals.earned, totals.spent, totals.fees, totals.refunds_due].map((total) => total.micros)).toEqual([
            of(({ type }) => type === 'seller_credit'),
            of(({ type }) => type === 'direct_payment'),
            of(({ type }) => type === 'marketplace_fee'),
            of(({ type }) => type === 'adjustment'),
          ]);
          before = BigInt(closing_balance.micros);
        }
      }),
      { numRuns: 12 },
    );
  });
});
