import { getReceipt, listLedger, listReceipts } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf, RequestOf } from '@market/contracts';
import { newId } from '@market/kernel';
import { as, newOrder, reasonOf, startLedger, type LedgerHarness } from '../support/ledger-harness.js';

type LedgerPage = OutputOf<typeof listLedger>;

describe('the books', () => {
  let harness: LedgerHarness;
  /** Ada and Bob buy from each other; the stranger has separate sales. */
  const [ada, bob, stranger] = [newId(), newId(), newId()];
  const adas = newOrder().listing.listingId;
  const started = new Date();

  beforeAll(async () => {
    harness = await startLedger();
    const sell = async (buyer: string, sellerId: string, priceMicros: string, listingId = newId()): Promise<void> => {
      const order = newOrder({ buyer, priceMicros });
      await harness.settle(await harness.authorized({ ...order, listing: { ...order.listing, sellerId, listingId } }));
    };
    for (let calls = 0; calls < 3; calls += 1) await sell(bob, ada, '100000', adas);
    await sell(ada, bob, '1000000');
    await sell(stranger, newId(), '70000000');
    const late = newOrder({ buyer: bob, priceMicros: '300000' });
    await harness.pay(late, await harness.quote(late), 'late');
  });
  afterAll(() => harness.stop());

  const ledger = (who: string, filter: Partial<RequestOf<typeof listLedger>> = {}): Promise<LedgerPage> =>
    harness.edge.request(listLedger, { page: 1, limit: 20, ...filter }, as(who));
  const receipts = (
    who: string,
    filter: Partial<InputOf<typeof listReceipts>> = {},
  ): Promise<OutputOf<typeof listReceipts>> =>
    harness.edge.request(listReceipts, { page: 1, limit: 20, ...filter }, as(who));
  const brief = ({ items }: LedgerPage): string[] =>
    items.map(
      ({ type, direction, amount_cents, balance_after_cents }) =>
        `${type} ${direction} ${amount_cents} → ${balance_after_cents}`,
    );

  it("show an account's postings, newest first, each with the balance after it", async () => {
    const page = await ledger(bob);
    expect(page.total).toBe(6);
    expect(brief(page)).toEqual([
      'adjustment credit 30 → 30',
      'marketplace_fee debit 5 → 95',
      'seller_credit credit 100 → 100',
      'direct_payment debit 10 → -30',
      'direct_payment debit 10 → -20',
      'direct_payment debit 10 → -10',
    ]);
    expect(listLedger.output.safeParse(page).error).toBeUndefined();
    const [newest] = (await ledger(bob, { type: 'direct_payment' })).items;
    const [receipt] = (await receipts(bob, { role: 'buyer' })).items;
    expect(newest).toEqual({
      id: expect.any(String) as string,
      transaction_id: expect.any(String) as string,
      type: 'direct_payment',
      account: `agent:${bob}:payments`,
      direction: 'debit',
      amount_cents: 10,
      currency: 'USD',
      balance_after_cents: -30,
      listing: { id: adas, name: 'Weather', slug: expect.stringMatching(/^weather-/) as string },
      reference: {
        payment_id: receipt!.payment_id,
        gateway_request_id: expect.any(String) as string,
        receipt_id: receipt!.id,
      },
      transaction_hash: receipt!.transaction_hash,
      network: 'eip155:84532',
      wallet: expect.stringMatching(/^0x/) as string,
      usage: null,
      created_at: receipt!.created_at,
    });
    expect(page.items[0]!.reference.receipt_id).toBeNull();
  });

  it.each<[string, Partial<RequestOf<typeof listLedger>>, number]>([
    ['type', { type: 'seller_credit' }, 1],
    ['direction', { direction: 'debit' }, 4],
    ['listing', { listingId: adas }, 3],
    ['type and direction together', { type: 'direct_payment', direction: 'credit' }, 0],
    ['a listing nobody has', { listingId: newId() }, 0],
    ['a time before anything', { to: started.toISOString() }, 0],
    ['a time since the beginning', { from: started.toISOString() }, 6],
    ['a time to come', { from: new Date(Date.now() + 3_600_000).toISOString() }, 0],
  ])('are filtered by %s, with an exact total', async (_name, filter, total) => {
    const page = await ledger(bob, filter);
    expect([page.total, page.items.length]).toEqual([total, total]);
  });

  it('take `from` as inclusive and `to` as exclusive', async () => {
    const { items } = await ledger(bob);
    const at = items[0]!.created_at;
    expect((await ledger(bob, { from: at })).total).toBe(1);
    expect((await ledger(bob, { to: at })).total).toBe(5);
  });

  it('are cut into pages that add up, and are empty beyond the end', async () => {
    const pages = await Promise.all([1, 2, 3, 4, 1_000_000_000].map((page) => ledger(bob, { page, limit: 2 })));
    expect(pages.map(({ items, total }) => [items.length, total])).toEqual([
      [2, 6],
      [2, 6],
      [2, 6],
      [0, 6],
      [0, 6],
    ]);
    expect(pages.flatMap(({ items }) => items)).toEqual((await ledger(bob)).items);
  });

  it('belong to their account: nobody sees a posting of another', async () => {
    const all = await Promise.all([ada, bob, stranger, newId()].map((who) => ledger(who, { limit: 100 })));
    expect(all.map(({ total }) => total)).toEqual([7, 6, 1, 0]);
    expect(new Set(all.flatMap(({ items }) => items.map(({ id }) => id))).size).toBe(14);
    expect(all.flatMap(({ items }) => items).filter(({ account }) => !account.startsWith('agent:'))).toEqual([]);
  });

  it('hold one receipt for each side of a call, with the same numbers', async () => {
    const [forAda, forBob] = [await receipts(ada), await receipts(bob)];
    expect([forAda.total, forBob.total]).toEqual([4, 4]);
    const numbers = ({ items }: typeof forAda): unknown[] =>
      items.map(({ id: _id, recipient_type: _type, ...rest }) => rest);
    expect(numbers(forAda)).toEqual(numbers(forBob));
    expect(forAda.items.map(({ recipient_type }) => recipient_type)).toEqual(['buyer', 'seller', 'seller', 'seller']);
    expect(forAda.items[1]).toMatchObject({
      gross_amount: 0.1,
      fee_rate: 0.05,
      fee_amount: 0.005,
      net_amount: 0.095,
      currency: 'USD',
      paid: { asset: 'USDC', amount: '0.1', amount_base_units: '100000' },
      listing: { id: adas },
    });
    expect(forAda.items.map(({ id }) => id)).not.toEqual(forBob.items.map(({ id }) => id));
  });

  it('list receipts by side and by page, with exact totals', async () => {
    expect((await receipts(ada, { role: 'seller' })).total).toBe(3);
    expect((await receipts(ada, { role: 'buyer' })).total).toBe(1);
    const pages = await Promise.all([1, 2, 3].map((page) => receipts(ada, { page, limit: 3 })));
    expect(pages.map(({ items, total }) => [items.length, total])).toEqual([
      [3, 4],
      [1, 4],
      [0, 4],
    ]);
    expect(pages.flatMap(({ items }) => items)).toEqual((await receipts(ada)).items);
  });

  it('show a receipt in full to the side it belongs to, and to nobody else', async () => {
    const [mine] = (await receipts(ada, { role: 'buyer' })).items;
    const detail = await harness.edge.request(getReceipt, { receiptId: mine!.id }, as(ada));
    expect(detail).toEqual({
      ...mine,
      relay_request_id: expect.stringMatching(/^0x/) as string,
      payer_id: ada,
      seller_id: bob,
      refunds: [],
    });
    for (const who of [bob, stranger])
      expect(await reasonOf(harness.edge.request(getReceipt, { receiptId: mine!.id }, as(who)))).toBe(
        'receipt_not_found',
      );
    expect(await reasonOf(harness.edge.request(getReceipt, { receiptId: newId() }, as(ada)))).toBe('receipt_not_found');
  });
});
