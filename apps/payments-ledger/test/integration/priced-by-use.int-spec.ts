import type { InputOf, OutputOf } from '@market/contracts';
import {
  listLedger,
  listReceipts,
  listRefunds,
  paymentCompleted,
  paymentRefundDue,
  type createOffer,
} from '@market/contracts/payments-ledger';
import { splitFee, usedMicros, type Usage } from '@market/kernel';
import { UptoEvmScheme } from '@x402/evm/upto/client';
import fc from 'fast-check';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import {
  as,
  asAuthorized,
  budgetWith,
  newOrder,
  startLedger,
  type Authorized,
  type LedgerHarness,
  type Offered,
  type Order,
  type Outcome,
} from '../support/ledger-harness.js';
import { signed } from '../support/signed-payload.js';

/** A thousand tokens cost a cent, beyond ten thousand half a cent. */
const TOKENS: Usage = {
  unit: 'token',
  per: 1_000,
  tiers: [
    { up_to: 10_000, price: 0.01 },
    { up_to: null, price: 0.005 },
  ],
};
const MOST = 400_000n;
const FEE_BPS = 500;

type Wish = Partial<InputOf<typeof createOffer>>;
const BY_SIGNATURE: Wish = { originChainId: '84532', originCurrency: 'USDC' };

describe('a call that costs what it uses', () => {
  let harness: LedgerHarness;
  beforeAll(async () => {
    harness = await startLedger();
  });
  afterAll(() => harness.stop());

  const order = (changes: Partial<Order> = {}): Order => newOrder({ priceMicros: String(MOST), ...changes });
  const quote = (of: Order, wish: Wish = {}, usage = TOKENS): Promise<Offered> => harness.quote(of, { usage, ...wish });
  const paid = async (of: Order, wish?: Wish, outcome?: Outcome, usage?: Usage): Promise<[Offered, Authorized]> => {
    const offered = await quote(of, wish, usage);
    await harness.pay(of, offered, outcome);
    return [offered, asAuthorized(await harness.authorize(of, offered))];
  };
  /** Signed by the stock client of `upto`, or of `exact`. */
  const signedFor = async (of: Order, scheme: 'upto' | 'exact'): Promise<[Offered, Authorized]> => {
    const offered = await quote(of, BY_SIGNATURE);
    const account = privateKeyToAccount(generatePrivateKey());
    const accepted = offered.offer.x402.find((each) => each.scheme === scheme)!;
    const authorization =
      scheme === 'exact'
        ? await signed({ offer: { ...offered.offer, x402: [accepted] } }, account)
        : JSON.stringify({
            x402Version: 2,
            accepted,
            payload: (await new UptoEvmScheme(account).createPaymentPayload(2, accepted as never)).payload,
          });
    return [offered, asAuthorized(await harness.authorize(of, offered, { authorization }))];
  };
  const owed = async ({ paymentId }: Authorized): Promise<[string, bigint][]> =>
    (await harness.received(paymentRefundDue))
      .filter((each) => each.paymentId === paymentId)
      .map(({ reason, amountMicros }) => [reason, BigInt(amountMicros)]);
  const charged = async ({ paymentId }: Authorized): Promise<[bigint, bigint][]> =>
    (await harness.received(paymentCompleted))
      .filter((each) => each.paymentId === paymentId)
      .map(({ grossMicros, feeMicros }) => [BigInt(grossMicros), BigInt(feeMicros)]);
  const receiptsOf = async (accountId: string): Promise<OutputOf<typeof listReceipts>['items']> =>
    (await harness.edge.request(listReceipts, { page: 1, limit: 10 }, as(accountId))).items;

  it('is offered at the most that it can cost, and says how it is priced', async () => {
    const { offer, money } = await quote(order());
    expect(offer).toMatchObject({ requirements: { amount: '0.4' }, fees: { gross_amount: 0.4 }, usage: TOKENS });
    expect(money).toEqual({
      grossMicros: '400000',
      feeMicros: '20000',
      netMicros: '380000',
      feeBps: 500,
      usage: TOKENS,
    });
    expect((await harness.quote(newOrder())).offer).not.toHaveProperty('usage');
  });

  it('keeps the price that it was offered at, whatever the listing says later', async () => {
    const of = order();
    const offered = await quote(of);
    const dearer = { ...TOKENS, tiers: [{ up_to: null, price: 1 }] };
    expect((await quote(of, {}, dearer)).offer).toEqual(offered.offer);
  });

  it('is charged what it used, and the rest is owed back, once however often it is settled', async () => {
    const of = order();
    const [, call] = await paid(of);
    const answers = await Promise.all(Array.from({ length: 16 }, () => harness.settle(call, { units: 12_000 })));
    expect(new Set(answers.map(({ completedAt }) => completedAt)).size).toBe(1);
    await harness.settle(call, { units: 1 });
    expect(await charged(call)).toEqual([[110_000n, 5_500n]]);
    expect(await owed(call)).toEqual([['unused', 290_000n]]);
    const [receipt] = await receiptsOf(of.buyer);
    expect(receipt).toMatchObject({ gross_amount: 0.11, fee_amount: 0.0055, usage: { unit: 'token', units: 12_000 } });
    expect(await receiptsOf(of.listing.sellerId)).toMatchObject([{ net_amount: 0.1045, usage: { units: 12_000 } }]);
    const { items } = await harness.edge.request(listLedger, { page: 1, limit: 10 }, as(of.buyer));
    expect(items.map(({ amount_cents, usage }) => [amount_cents, usage?.units])).toEqual([
      [29, 12_000],
      [11, 12_000],
    ]);
    const refunds = await harness.edge.request(listRefunds, { page: 1, limit: 10 }, as(of.buyer));
    expect(refunds.items).toMatchObject([{ reason: 'unused', amount: { usd: 0.29 }, status: 'refund_due' }]);
  });

  it('is charged the most for more, and owes nothing back then', async () => {
    const [, call] = await paid(order());
    await harness.settle(call, { units: 999_999_999_999_999 });
    expect(await charged(call)).toEqual([[400_000n, 20_000n]]);
    expect(await owed(call)).toEqual([]);
  });

  it('is not charged without units', async () => {
    const [, call] = await paid(order());
    await expect(harness.settle(call)).rejects.toThrow();
    expect(await charged(call)).toEqual([]);
    await harness.settle(call, { units: 1_000 });
    expect(await charged(call)).toEqual([[10_000n, 500n]]);
  });

  it('owes back what was too much, and what was not used, each on its own', async () => {
    const [, call] = await paid(order(), {}, 'overpaid');
    await harness.settle(call, { units: 10_000 });
    expect(await owed(call)).toEqual([
      ['overpaid', 200_000n],
      ['unused', 300_000n],
    ]);
  });

  it.each([0, 99])('owes all back for %d units that cost nothing, once', async (units) => {
    const of = order();
    const [offered, call] = await paid(of, {}, 'paid', { ...TOKENS, per: 1_000_000 });
    await Promise.all(Array.from({ length: 8 }, () => harness.settle(call, { units })));
    expect(await charged(call)).toEqual([]);
    expect(await owed(call)).toEqual([['unused', 400_000n]]);
    expect(await receiptsOf(of.buyer)).toEqual([]);
    expect(await harness.authorize(of, offered)).toEqual({ outcome: 'not_payable', reason: 'refund_due' });
  });

  it('moves what was used, by a signature of upto', async () => {
    const of = order();
    const [offered, call] = await signedFor(of, 'upto');
    expect(offered.offer.x402.map(({ scheme, amount }) => [scheme, amount])).toEqual([
      ['upto', '400000'],
      ['exact', '400000'],
    ]);
    const { transfer } = await harness.settle(call, { units: 12_000, isSigned: true });
    expect(transfer).toMatchObject({ amount: '110000' });
    expect(await charged(call)).toEqual([[110_000n, 5_500n]]);
    expect(await owed(call)).toEqual([]);
    const [moved] = await harness.db.inspect<{ amount_base_units: string }>(
      'SELECT amount_base_units FROM payments_ledger.sandbox_transfers WHERE payment_id = $1',
      [call.paymentId],
    );
    expect(moved).toEqual({ amount_base_units: '110000' });
    expect(await receiptsOf(of.buyer)).toMatchObject([{ paid: { amount_base_units: '110000' } }]);
    expect(await harness.authorize(of, offered)).toMatchObject({ outcome: 'completed', transfer });
  });

  it('moves nothing for nothing, by a signature of upto', async () => {
    const of = order();
    const [offered, call] = await signedFor(of, 'upto');
    for (const _ of [1, 2])
      expect(await harness.settle(call, { units: 0, isSigned: true })).toMatchObject({ transfer: null });
    expect(await harness.stateOf(call.paymentId)).toBe('cancelled');
    expect([await charged(call), await owed(call)]).toEqual([[], []]);
    expect(await harness.authorize(of, offered)).toEqual({ outcome: 'not_payable', reason: 'cancelled' });
  });

  it('moves the most and owes the rest back, by a signature of exact, or one that was settled before', async () => {
    for (const scheme of ['exact', 'upto'] as const) {
      const [, call] = await signedFor(order(), scheme);
      if (scheme === 'upto') await harness.collect(call);
      await harness.settle(call, { units: 1_000, isSigned: true });
      expect(await charged(call)).toEqual([[10_000n, 500n]]);
      expect(await owed(call)).toEqual([['unused', 390_000n]]);
    }
  });

  it('takes no signature for other terms', async () => {
    const of = order();
    const offered = await quote(of, BY_SIGNATURE);
    const account = privateKeyToAccount(generatePrivateKey());
    const [upto] = offered.offer.x402;
    const other = `0x${'12'.repeat(20)}`;
    const rejection = async (changes: object, extra: object = {}, resent: object = {}): Promise<unknown> => {
      const accepted = { ...upto!, ...changes, extra: { ...upto!.extra, ...extra } };
      const { payload } = await new UptoEvmScheme(account).createPaymentPayload(2, accepted as never);
      const text = JSON.stringify({ x402Version: 2, accepted: { ...accepted, ...resent }, payload });
      return ((await harness.authorize(of, offered, { authorization: text })) as { reason?: string }).reason;
    };
    expect(await rejection({ amount: '1' })).toBe('accepted_mismatch');
    expect(await rejection({ amount: '1' }, {}, { amount: upto!.amount })).toBe('permit2_amount_mismatch');
    expect(await rejection({ payTo: other }, {}, { payTo: upto!.payTo })).toBe('invalid_permit2_recipient_mismatch');
    expect(await rejection({ asset: other }, {}, { asset: upto!.asset })).toBe('permit2_token_mismatch');
    expect(await rejection({}, { facilitatorAddress: other }, { extra: upto!.extra })).toBe(
      'upto_facilitator_mismatch',
    );
    expect(await rejection({ maxTimeoutSeconds: 1 }, {}, { maxTimeoutSeconds: upto!.maxTimeoutSeconds })).toBe(
      'permit2_deadline_expired',
    );
    expect(await rejection({ network: 'eip155:1' }, {}, { network: upto!.network })).toBe('invalid_permit2_signature');
    // An ordinary call takes none of them.
    const plain = order();
    const asked = await harness.quote(plain, BY_SIGNATURE);
    const { payload } = await new UptoEvmScheme(account).createPaymentPayload(2, upto as never);
    const accepted = { ...asked.offer.x402[0], scheme: 'upto' };
    const text = JSON.stringify({ x402Version: 2, accepted, payload });
    expect(await harness.authorize(plain, asked, { authorization: text })).toMatchObject({
      outcome: 'rejected',
      reason: 'unsupported_scheme',
    });
  });

  it('counts against a budget what it can cost, and then what it cost', async () => {
    const budgets = [budgetWith({ perDayMicros: '500000' })];
    const spent = async (): Promise<unknown> =>
      (
        await harness.db.inspect('SELECT DISTINCT spent_micros FROM payments_ledger.spending WHERE budget_id = $1', [
          budgets[0]!.id,
        ])
      ).map(({ spent_micros }) => spent_micros);
    const of = order({ budgets });
    const [, call] = await paid(of);
    expect(await spent()).toEqual(['400000']);
    await harness.settle(call, { units: 2_000 });
    expect(await spent()).toEqual(['20000']);
    const [, unused] = await paid(order({ buyer: of.buyer, budgets }));
    expect(await spent()).toEqual(['420000']);
    await harness.settle(unused, { units: 0 });
    expect(await spent()).toEqual(['20000']);
  });

  it('is charged by its tiers, and what is charged and owed back is what was paid, in any currency', async () => {
    const price = fc.bigInt({ min: 0n, max: 10n ** 6n }).map((micros) => Number(micros) / 1_000_000);
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          per: fc.constantFrom(1, 7, 1_000),
          ends: fc.uniqueArray(fc.integer({ min: 1, max: 999 }), { maxLength: 3 }),
        }),
        fc.array(price, { minLength: 4, maxLength: 4 }),
        fc.bigInt({ min: 100_000n, max: 3_000_000n }),
        fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 999_999_999 })),
        fc.constantFrom<Wish>({}, { originCurrency: 'SOL' }, { originCurrency: 'ETH' }),
        fc.constantFrom<Outcome>('paid', 'overpaid'),
        async ({ per, ends }, prices, most, units, wish, outcome) => {
          const tiers = [...ends.sort((a, b) => a - b), null].map((up_to, n) => ({
            up_to,
            price: prices[n]! || 0.000_001,
          }));
          const usage = { unit: 'result', per, tiers };
          const of = order({ priceMicros: String(most) });
          const [offered, call] = await paid(of, wish, outcome, usage);
          await harness.settle(call, { units });
          const charge = usedMicros(usage, units, most);
          expect(await charged(call)).toEqual(charge > 0n ? [[charge, splitFee(charge, FEE_BPS).fee]] : []);
          const [row] = await harness.db.inspect<{ received_base_units: string }>(
            'SELECT received_base_units FROM payments_ledger.payments WHERE id = $1',
            [call.paymentId],
          );
          const asked = BigInt(offered.offer.requirements.amount_base_units);
          const worth = (BigInt(row!.received_base_units) * most) / asked;
          const back = (await owed(call)).reduce((sum, [, micros]) => sum + micros, 0n);
          expect(charge + back).toBe(worth);
        },
      ),
      { numRuns: 60 },
    );
  });
});
