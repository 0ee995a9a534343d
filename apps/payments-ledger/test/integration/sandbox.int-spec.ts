import { paymentRefundDue } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import {
  newOrder,
  reasonOf,
  startLedger,
  type LedgerHarness,
  type Offered,
  type Order,
  type Outcome,
} from '../support/ledger-harness.js';

describe('a sandbox payment', () => {
  let harness: LedgerHarness;
  beforeAll(async () => {
    harness = await startLedger();
  });
  afterAll(() => harness.stop());

  const quoted = async (changes?: Partial<Order>): Promise<[Order, Offered]> => {
    const order = newOrder({ priceMicros: '400000', ...changes });
    return [order, await harness.quote(order)];
  };
  const owedTo = async ({ buyer }: Order): Promise<{ reason: string; amountMicros: string }[]> =>
    (await harness.received(paymentRefundDue))
      .filter(({ buyerId }) => buyerId === buyer)
      .map(({ reason, amountMicros }) => ({ reason, amountMicros }));
  const transfers = async (paymentId: string): Promise<number> =>
    (await harness.db.inspect('SELECT 1 FROM payments_ledger.sandbox_transfers WHERE payment_id = $1', [paymentId]))
      .length;

  it('is verified when it covers the price, and paying it again, 32 times at once, changes nothing', async () => {
    const [order, offered] = await quoted();
    const answers = await Promise.all(Array.from({ length: 32 }, () => harness.pay(order, offered)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toEqual({
      payment_id: offered.offer.payment_id,
      relay_request_id: offered.offer.relay_request_id,
      status: 'verified',
      outcome: 'paid',
      received_amount: '0.4',
      currency: 'USDC',
      transaction_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
    });
    expect(await transfers(offered.offer.payment_id)).toBe(1);
    const claim = await harness.authorize(order, offered);
    expect(claim).toMatchObject({ outcome: 'authorized', transactionHash: answers[0]!.transaction_hash });
    expect(await harness.pay(order, offered, 'late')).toMatchObject({
      status: 'verified',
      transaction_hash: answers[0]!.transaction_hash,
    });
  });

  it('is pending until it is final, even when it is paid again meanwhile', async () => {
    const [order, offered] = await quoted();
    expect(await harness.authorize(order, offered)).toEqual({ outcome: 'unpaid', offer: offered.offer });
    expect(await harness.pay(order, offered, 'pending')).toMatchObject({ status: 'pending', received_amount: '0.4' });
    for (const outcome of ['pending', 'paid', 'underpaid', 'overpaid', 'failed'] as const)
      expect(await harness.pay(order, offered, outcome)).toMatchObject({ status: 'pending', received_amount: '0.4' });
    expect(await harness.authorize(order, offered)).toEqual({
      outcome: 'pending',
      gatewayRequestId: offered.gatewayRequestId,
      retryAfterSeconds: 2,
      reason: 'payment_not_final',
    });
    await harness.db.inspect('UPDATE payments_ledger.sandbox_transfers SET final_at = now() WHERE payment_id = $1', [
      offered.offer.payment_id,
    ]);
    expect(await harness.authorize(order, offered)).toMatchObject({ outcome: 'authorized' });
  });

  it('says what is missing, and is verified by the part that was', async () => {
    const [order, offered] = await quoted();
    expect(await harness.pay(order, offered, 'underpaid')).toMatchObject({
      status: 'underpaid',
      received_amount: '0.2',
    });
    expect(await harness.authorize(order, offered)).toEqual({
      outcome: 'underpaid',
      offer: { ...offered.offer, status: 'underpaid', x402: [] },
      received: '0.2',
      missing: '0.2',
    });
    await harness.pay(order, offered, 'underpaid');
    expect(await harness.authorize(order, offered)).toMatchObject({
      outcome: 'underpaid',
      received: '0.3',
      missing: '0.1',
    });
    expect(await harness.pay(order, offered, 'failed')).toMatchObject({ status: 'underpaid', received_amount: '0.3' });
    expect(await harness.pay(order, offered)).toMatchObject({ status: 'verified', received_amount: '0.4' });
    expect(await transfers(offered.offer.payment_id)).toBe(3);
    expect(await harness.authorize(order, offered)).toMatchObject({ outcome: 'authorized' });
    expect(await owedTo(order)).toEqual([]);
  });

  it.each<[string, Outcome[], string]>([
    ['at once', ['overpaid'], '200000'],
    ['in two parts', ['underpaid', 'overpaid'], '200000'],
  ])('owes back what was paid too much %s, once, and still buys the call', async (_name, outcomes, surplus) => {
    const [order, offered] = await quoted();
    for (const outcome of outcomes) await harness.pay(order, offered, outcome);
    expect(await harness.pay(order, offered, 'overpaid')).toMatchObject({ status: 'verified', received_amount: '0.6' });
    const claim = await harness.authorize(order, offered);
    if (claim.outcome === 'authorized') await harness.settle(claim);
    expect(await owedTo(order)).toEqual([{ reason: 'overpaid', amountMicros: surplus }]);
  });

  it.each<[string, Outcome[]]>([
    ['at once', ['late']],
    ['in two parts', ['underpaid', 'late']],
    ['after a part that was under way', ['pending', 'late']],
  ])('that comes too late %s is owed back whole and once, and buys nothing', async (_name, outcomes) => {
    const [order, offered] = await quoted();
    for (const outcome of outcomes) await harness.pay(order, offered, outcome);
    expect(await harness.stateOf(offered.offer.payment_id)).toBe('refund_due');
    expect(await harness.authorize(order, offered)).toEqual({ outcome: 'not_payable', reason: 'refund_due' });
    for (const outcome of ['paid', 'late'] as const)
      expect(await reasonOf(harness.pay(order, offered, outcome))).toBe('offer_not_payable');
    expect(await owedTo(order)).toEqual([{ reason: 'paid_late', amountMicros: '400000' }]);
    expect((await harness.quote(order)).offer.relay_request_id).not.toBe(offered.offer.relay_request_id);
  });

  it('that failed buys nothing and costs nothing, and leaves room for a new offer', async () => {
    const [order, offered] = await quoted();
    expect(await harness.pay(order, offered, 'failed')).toMatchObject({ status: 'failed', received_amount: '0' });
    expect(await harness.authorize(order, offered)).toEqual({ outcome: 'not_payable', reason: 'payment_failed' });
    expect(await reasonOf(harness.pay(order, offered))).toBe('offer_not_payable');
    expect((await harness.quote(order)).offer.relay_request_id).not.toBe(offered.offer.relay_request_id);
  });

  it('is found owed back when money came for an offer that had expired', async () => {
    const [order, offered] = await quoted();
    await harness.db.inspect("UPDATE payments_ledger.payments SET state = 'expired' WHERE id = $1", [
      offered.offer.payment_id,
    ]);
    await harness.db.inspect('INSERT INTO payments_ledger.sandbox_transfers VALUES ($1, $2, 400000, now())', [
      `0x${newId()}`,
      offered.offer.payment_id,
    ]);
    expect(await harness.authorize(order, offered)).toEqual({ outcome: 'not_payable', reason: 'refund_due' });
    expect(await owedTo(order)).toEqual([{ reason: 'paid_late', amountMicros: '400000' }]);
  });

  it('is made by its buyer only', async () => {
    const [order, offered] = await quoted();
    expect(await reasonOf(harness.pay({ ...order, buyer: newId() }, offered))).toBe('payment_not_found');
    expect(await reasonOf(harness.pay({ ...order, buyer: order.listing.sellerId }, offered))).toBe('payment_not_found');
    expect(await harness.stateOf(offered.offer.payment_id)).toBe('pending');
  });

  it('counts each currency in its own base units', async () => {
    const order = newOrder({ priceMicros: '100001' });
    const offered = await harness.quote(order, { originCurrency: 'ETH' });
    await harness.pay(order, offered, 'underpaid');
    expect(await harness.authorize(order, offered)).toMatchObject({
      outcome: 'underpaid',
      received: '0.000016666833333333',
      missing: '0.000016666833333334',
    });
    expect(await harness.pay(order, offered, 'overpaid')).toMatchObject({ received_amount: '0.000050000500000001' });
    expect(await owedTo(order)).toEqual([{ reason: 'overpaid', amountMicros: '50000' }]);
  });
});
