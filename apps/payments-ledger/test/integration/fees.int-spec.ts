import type { OutputOf, RequestOf } from '@market/contracts';
import {
  feesNearLimit,
  getBalance,
  listLedger,
  payFees,
  quoteKeyless,
  sellerStandingChanged,
} from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { newRequestContext } from '@market/messaging';
import { eventually } from '@market/testing';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { SandboxRail } from '../../src/rails/sandbox/sandbox.rail.js';
import { SandboxFacilitator } from '../../src/rails/x402/sandbox-facilitator.js';
import { payoutOf } from '../../../gateway/test/support/fake-wallets.js';
import {
  as,
  asAuthorized,
  newOrder,
  reasonOf,
  startLedger,
  type LedgerHarness,
  type Offered,
} from '../support/ledger-harness.js';
import { ledgerParts } from '../support/parts.js';
import { signed as signedBy } from '../support/signed-payload.js';

type Required = Extract<OutputOf<typeof payFees>, { outcome: 'payment_required' }>;

const SANDBOX = '0x5A4dB0c500000000000000000000000000000402';
const usd = (micros: number) => ({ micros: String(micros), usd: micros / 1_000_000 });
const account = privateKeyToAccount(generatePrivateKey());

/** Returns the payload of the stock client for one of the `accepts` of a 402. */
const signed = ({ accepts: [x402] }: Pick<Required, 'accepts'>, signer = account): Promise<string> =>
  signedBy({ offer: { x402: [x402] } } as unknown as Offered, signer);

describe('fees of sales that paid the seller', () => {
  let harness: LedgerHarness;
  beforeAll(async () => {
    harness = await startLedger({
      replicas: 2,
      env: {
        PAYMENTS_LEDGER_FEE_CREDIT_LIMIT_MICROS: '20000',
        PAYMENTS_LEDGER_FEE_GRACE_DAYS: '14',
        PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '100',
      },
    });
  });
  afterAll(() => harness.stop());

  /** Sells calls for $0.25 each, of which $0.0125 is the fee. */
  const sold = async (sellerId = newId(), calls = 1): Promise<string> => {
    for (let call = 0; call < calls; call += 1) {
      const order = newOrder();
      order.listing.sellerId = sellerId;
      const offered = await harness.quote(order);
      const authorization = await signedBy(offered, privateKeyToAccount(generatePrivateKey()));
      await harness.settle(asAuthorized(await harness.authorize(order, offered, { authorization })));
    }
    return sellerId;
  };
  const pay = (sellerId: string, input: RequestOf<typeof payFees> = {}) =>
    harness.edge.request(payFees, input, as(sellerId));
  const ask = async (sellerId: string, amountMicros?: string): Promise<Required> => {
    const asked = await pay(sellerId, { amountMicros });
    if (asked.outcome !== 'payment_required') throw new Error(`expected to be asked to pay, not ${asked.outcome}`);
    return asked;
  };
  const balanceOf = (id: string) => harness.edge.request(getBalance, {}, as(id));
  const entriesOf = async (id: string) =>
    (await harness.edge.request(listLedger, { page: 1, limit: 20 }, as(id))).items
      .map(({ type, account: name, direction, amount_cents, balance_after_cents, listing }) => [
        type,
        name.replace(`agent:${id}:`, ''),
        direction,
        amount_cents,
        balance_after_cents,
        listing === null,
      ])
      .reverse();

  it('are a debt of the seller, whose own wallet has the price', async () => {
    const seller = await sold();
    const place = `eip155:84532:${payoutOf(seller)}`;
    expect(await entriesOf(seller)).toEqual([
      ['seller_credit', `received:${place}`, 'credit', 25, 25, false],
      ['marketplace_fee', 'fees', 'debit', 1.25, -1.25, false],
    ]);
    expect(await balanceOf(seller)).toEqual({
      currency: 'USD',
      earned: usd(237_500),
      received: [{ network: 'eip155:84532', wallet: payoutOf(seller), amount: usd(250_000) }],
      payable: usd(0),
      payouts: [],
      fees: { due: usd(12_500), paid: usd(0), limit: usd(20_000), status: 'notice', pay_by: null },
      refunds: { due_to_account: usd(0), due_by_account: usd(0) },
    });
  });

  it('are no debt where the operator got the price, which it owes the seller after the fee', async () => {
    const order = newOrder();
    const claim = await harness.authorized(order);
    await harness.settle(claim);
    expect(await balanceOf(order.listing.sellerId)).toMatchObject({
      earned: usd(237_500),
      received: [],
      payable: usd(237_500),
      fees: { due: usd(0), status: 'good' },
    });
    expect(await reasonOf(pay(order.listing.sellerId))).toBe('no_fees_due');
  });

  it('are paid by a signature, once, however often it is sent', async () => {
    const seller = await sold();
    const asked = await ask(seller);
    expect(asked).toMatchObject({ due: usd(12_500), amount: usd(12_500) });
    expect(asked.accepts).toMatchObject([{ network: 'eip155:84532', amount: '12500', payTo: SANDBOX }]);
    const authorization = await signed(asked);
    const answers = await Promise.all(Array.from({ length: 16 }, () => pay(seller, { authorization })));
    expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(
      new Set(answers.some(({ outcome }) => outcome === 'pending') ? ['paid', 'pending'] : ['paid']),
    );
    const paid = await pay(seller, { authorization });
    expect(paid).toMatchObject({
      outcome: 'paid',
      amount: usd(12_500),
      due: usd(0),
      transfer: { network: 'eip155:84532', payer: account.address.toLowerCase() },
    });
    expect((await entriesOf(seller)).at(-1)).toEqual(['marketplace_fee', 'fees', 'credit', 1.25, 0, true]);
    expect(await balanceOf(seller)).toMatchObject({
      earned: usd(237_500),
      fees: { due: usd(0), paid: usd(12_500), status: 'good' },
    });
    expect(await reasonOf(pay(seller))).toBe('no_fees_due');
  });

  it('are paid in parts where the seller says how much, and never beyond what is due', async () => {
    const seller = await sold();
    expect(await reasonOf(ask(seller, '12501'))).toBe('more_than_due');
    expect(await pay(seller, { authorization: await signed(await ask(seller, '2500')) })).toMatchObject({
      outcome: 'paid',
      amount: usd(2_500),
      due: usd(10_000),
    });
    // Two concurrent payments, each for the whole remaining debt.
    const offers = [await ask(seller), await ask(seller)];
    const both = await Promise.all(
      offers.map(async (offer) => pay(seller, { authorization: await signed(offer) }).catch((error: unknown) => error)),
    );
    expect(both.filter((answer) => (answer as OutputOf<typeof payFees>).outcome === 'paid')).toHaveLength(1);
    expect(await balanceOf(seller)).toMatchObject({ fees: { due: usd(0), paid: usd(12_500) } });
  });

  it('cannot be paid while no payment is taken for them, and can once the operator takes one', async () => {
    const seller = await sold();
    expect(await reasonOf(ledgerParts(harness.db.database, []).payFees.execute({}, as(seller)))).toBe(
      'fees_not_payable',
    );
    expect(await ledgerParts(harness.db.database).payFees.execute({}, as(seller))).toMatchObject({
      outcome: 'payment_required',
      due: usd(12_500),
    });
  });

  it("are not paid by another's offer, nor by that of a call, nor do they pay for one", async () => {
    const [seller, other] = [await sold(), await sold()];
    const authorization = await signed(await ask(other));
    expect(await pay(seller, { authorization })).toMatchObject({
      outcome: 'payment_required',
      reason: 'accepted_mismatch',
    });
    const order = newOrder();
    const { offers } = await harness.gateway.request(
      quoteKeyless,
      { listing: order.listing, priceMicros: '2500' },
      newRequestContext(),
    );
    const forCall = await signed({ accepts: offers.map(({ x402 }) => x402) });
    expect(await pay(seller, { authorization: forCall })).toMatchObject({ reason: 'accepted_mismatch' });
    const offered = await harness.quote(order);
    expect(await harness.authorize(order, offered, { authorization })).toMatchObject({
      outcome: 'rejected',
      reason: 'accepted_mismatch',
    });
    expect(await balanceOf(seller)).toMatchObject({ fees: { due: usd(12_500), paid: usd(0) } });
  });

  it.each([
    ['no payload', () => '{}', 'invalid_payload'],
    ['another amount', (text: string) => text.replaceAll('"12500"', '"1"'), 'accepted_mismatch'],
  ])('are asked for again where the signature is %s', async (_what, forge, reason) => {
    const seller = await sold();
    const authorization = forge(await signed(await ask(seller)));
    expect(await pay(seller, { authorization })).toMatchObject({ outcome: 'payment_required', reason });
    expect((await balanceOf(seller)).fees.due).toEqual(usd(12_500));
  });

  it.each(['before', 'after'])(
    'are booked once by the job where the process dies %s the money has moved',
    async (when) => {
      const seller = await sold();
      const { database } = harness.db;
      const sandbox = new SandboxFacilitator(database);
      let isDead = true;
      const dying = Object.assign(Object.create(sandbox) as SandboxFacilitator, {
        async settle(...args: Parameters<SandboxFacilitator['settle']>) {
          if (isDead && when === 'before') throw new Error('killed');
          const settled = await sandbox.settle(...args);
          if (isDead) throw new Error('killed');
          return settled;
        },
        settlementOf: (...args: Parameters<SandboxFacilitator['settlementOf']>) =>
          isDead ? Promise.reject(new Error('killed')) : sandbox.settlementOf(...args),
      });
      const parts = ledgerParts(database, [new SandboxRail(database, dying, null, 1_000n)]);
      const asked = (await parts.payFees.execute({}, as(seller))) as Required;
      const authorization = await signed(asked);
      expect(await parts.payFees.execute({ authorization }, as(seller))).toMatchObject({ outcome: 'pending' });
      expect((await balanceOf(seller)).fees.due).toEqual(usd(12_500));
      isDead = false;
      await harness.db.inspect(
        `UPDATE payments_ledger.authorizations SET settling_until = now() - interval '1 hour' WHERE state = 'settling'`,
      );
      await parts.settleAuthorization.run();
      expect(await parts.payFees.execute({ authorization }, as(seller))).toMatchObject({
        outcome: 'paid',
        due: usd(0),
      });
      expect((await balanceOf(seller)).fees).toMatchObject({ due: usd(0), paid: usd(12_500) });
    },
  );

  it('of more than the limit take the seller off the market after the days of grace, until they are paid', async () => {
    const seller = await sold(newId(), 2);
    const standings = async () =>
      (await harness.received(sellerStandingChanged))
        .filter(({ sellerId }) => sellerId === seller)
        .map(({ version, isOverdue }) => [version, isOverdue]);
    await eventually(async () => expect((await balanceOf(seller)).fees.pay_by).not.toBeNull());
    const { fees } = await balanceOf(seller);
    expect(fees).toMatchObject({ due: usd(25_000), status: 'notice' });
    expect(Math.round((Date.parse(fees.pay_by!) - Date.now()) / 86_400_000)).toBe(14);
    expect(await standings()).toEqual([]);
    const near = (await harness.received(feesNearLimit)).filter(({ sellerId }) => sellerId === seller);
    expect(near).toMatchObject([{ limitMicros: '20000' }]);
    await harness.db.inspect(
      `UPDATE payments_ledger.fee_standings SET over_limit_since = now() - interval '14 days' WHERE seller_id = $1`,
      [seller],
    );
    await eventually(async () => expect((await balanceOf(seller)).fees.status).toBe('overdue'));
    expect(await standings()).toEqual([[1, true]]);
    // The listings return as soon as the debt is within the limit.
    await pay(seller, { authorization: await signed(await ask(seller, '5000')) });
    expect((await balanceOf(seller)).fees).toMatchObject({ due: usd(20_000), status: 'notice', pay_by: null });
    expect(await standings()).toEqual([
      [1, true],
      [2, false],
    ]);
  });
});
