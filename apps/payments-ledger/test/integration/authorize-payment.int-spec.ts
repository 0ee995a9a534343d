import { paymentCompleted } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import {
  asAuthorized,
  digestOf,
  newOrder,
  reasonOf,
  startLedger,
  type LedgerHarness,
  type Offered,
  type Order,
} from '../support/ledger-harness.js';
import { ledgerParts } from '../support/parts.js';

describe('a paid payment', () => {
  let harness: LedgerHarness;
  beforeAll(async () => {
    harness = await startLedger({ replicas: 2 });
  });
  afterAll(() => harness.stop());

  const paid = async (): Promise<[Order, Offered]> => {
    const order = newOrder();
    const offered = await harness.quote(order);
    await harness.pay(order, offered);
    return [order, offered];
  };
  const rowOf = async (paymentId: string): Promise<Record<string, unknown>> =>
    (await harness.db.inspect('SELECT * FROM payments_ledger.payments WHERE id = $1', [paymentId]))[0]!;
  it('pays for its call, whoever of 64 asks at once over two processes, and is not changed by that', async () => {
    const [order, offered] = await paid();
    const before = await rowOf(offered.offer.payment_id);
    const claims = await Promise.all(Array.from({ length: 64 }, () => harness.authorize(order, offered)));
    const claim = asAuthorized(claims[0]!);
    expect(claims).toEqual(claims.map(() => claim));
    expect(await rowOf(offered.offer.payment_id)).toEqual(before);
    expect(claim).toEqual({
      outcome: 'authorized',
      paymentId: offered.offer.payment_id,
      gatewayRequestId: offered.gatewayRequestId,
      retryUntil: expect.stringMatching(/Z$/) as string,
      transactionHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
      provider: 'sandbox',
      scheme: 'deposit',
      network: 'eip155:84532',
      money: offered.money,
      listing: order.listing,
    });
    expect(new Date(claim.retryUntil).getTime() - Date.now()).toBeGreaterThan(86_390_000);
  });

  it('pays for no other buyer, listing or body, and stays as it was', async () => {
    const [order, offered] = await paid();
    const before = await rowOf(offered.offer.payment_id);
    expect(await reasonOf(harness.authorize({ ...order, buyer: newId() }, offered))).toBe('payment_not_found');
    expect(await reasonOf(harness.authorize(order, offered, { relayRequestId: `0x${digestOf('unknown')}` }))).toBe(
      'payment_not_found',
    );
    expect(await reasonOf(harness.authorize(order, offered, { listingId: newId() }))).toBe('listing_mismatch');
    expect(await reasonOf(harness.authorize(order, offered, { bodyDigest: digestOf('another body') }))).toBe(
      'request_body_mismatch',
    );
    expect(await rowOf(offered.offer.payment_id)).toEqual(before);
    expect(await harness.authorize(order, offered)).toMatchObject({ outcome: 'authorized' });
  });

  it('pays for no new call after its window, and still for one that was authorized in time', async () => {
    const [order, offered] = await paid();
    const call = asAuthorized(await harness.authorize(order, offered));
    await harness.db.inspect(
      "UPDATE payments_ledger.payments SET retry_until = now() - interval '1 second' WHERE id = $1",
      [call.paymentId],
    );
    expect(await harness.authorize(order, offered)).toMatchObject({ outcome: 'pending' });
    await harness.settle(call);
  });

  it('is charged for nothing once it is owed back', async () => {
    const [order, offered] = await paid();
    const call = asAuthorized(await harness.authorize(order, offered));
    await harness.db.inspect(
      "UPDATE payments_ledger.payments SET retry_until = now() - interval '1 second' WHERE id = $1",
      [call.paymentId],
    );
    await ledgerParts(harness.db.database).expirePayments.run();
    expect(await harness.stateOf(call.paymentId)).toBe('refund_due');
    expect(await reasonOf(harness.settle(call))).toBe('not_payable');
  });

  it('is charged once, however often and by however many it is settled, and answers the same each time', async () => {
    const [order, offered] = await paid();
    const claim = asAuthorized(await harness.authorize(order, offered));
    const settled = await Promise.all(Array.from({ length: 64 }, () => harness.settle(claim)));
    expect(new Set(settled.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(await harness.settle(claim)).toEqual(settled[0]);
    expect(await harness.settle(claim, { responseDigest: digestOf('late') })).toEqual(settled[0]);
    expect(await harness.authorize(order, offered)).toEqual({
      outcome: 'completed',
      gatewayRequestId: claim.gatewayRequestId,
      transfer: null,
    });
    await harness.release(claim);
    expect(await harness.stateOf(claim.paymentId)).toBe('completed');

    const events = (await harness.received(paymentCompleted)).filter(({ paymentId }) => paymentId === claim.paymentId);
    expect(events).toEqual([
      {
        paymentId: claim.paymentId,
        relayRequestId: offered.offer.relay_request_id,
        gatewayRequestId: claim.gatewayRequestId,
        buyerId: order.buyer,
        sellerId: order.listing.sellerId,
        listingId: order.listing.listingId,
        grossMicros: '250000',
        feeMicros: '12500',
        feeReceivedMicros: '0',
        sellerStatusCode: 200,
        latencyMs: 12,
        requestDigest: digestOf('request'),
        responseDigest: digestOf('response'),
        transactionHash: claim.transactionHash,
        completedAt: settled[0]!.completedAt,
      },
    ]);
  });

  it('does not fail its neighbours in a group: the good are charged, the unknown are told so', async () => {
    const claims = await Promise.all(
      Array.from({ length: 20 }, async () => asAuthorized(await harness.authorize(...(await paid())))),
    );
    const settled = await Promise.allSettled(
      claims.flatMap((claim) => [harness.settle(claim), harness.settle({ ...claim, paymentId: newId() })]),
    );
    expect(settled.map(({ status }) => status)).toEqual(claims.flatMap(() => ['fulfilled', 'rejected']));
    expect(await Promise.all(claims.map(({ paymentId }) => harness.stateOf(paymentId)))).toEqual(
      claims.map(() => 'completed'),
    );
  });

  it('is settled or owed back, never both, when a late settlement meets the sweep', async () => {
    const { expirePayments } = ledgerParts(harness.db.database);
    for (let round = 0; round < 15; round += 1) {
      const [order, offered] = await paid();
      const call = asAuthorized(await harness.authorize(order, offered));
      await harness.db.inspect(
        "UPDATE payments_ledger.payments SET retry_until = now() - interval '1 second' WHERE id = $1",
        [call.paymentId],
      );
      const [settled] = await Promise.allSettled([harness.settle(call), expirePayments.run()]);
      expect(await harness.stateOf(call.paymentId)).toBe(settled.status === 'fulfilled' ? 'completed' : 'refund_due');
    }
  });
});
