import { paymentCompleted } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { asClaimed, digestOf, newOrder, reasonOf, startLedger, type Claim, type LedgerWorld, type Offered, type Order } from '../support/ledger-world.js';

describe('a paid payment', () => {
  let world: LedgerWorld;
  beforeAll(async () => {
    world = await startLedger({ replicas: 2 });
  });
  afterAll(async () => {
    await world.reconcile();
    await world.stop();
  });

  const paid = async (): Promise<[Order, Offered]> => {
    const order = newOrder();
    const offered = await world.quote(order);
    await world.pay(order, offered);
    return [order, offered];
  };
  const rowOf = async (paymentId: string): Promise<Record<string, unknown>> => (await world.db.inspect('SELECT * FROM payments_ledger.payments WHERE id = $1', [paymentId]))[0]!;
  const endLeaseOf = (paymentId: string, secondsAgo = 1): Promise<unknown> => world.db.inspect("UPDATE payments_ledger.payments SET lease_until = now() - $2 * interval '1 second' WHERE id = $1", [paymentId, secondsAgo]);
  const outcomes = (claims: Claim[]): Record<string, number> => claims.reduce<Record<string, number>>((counts, { outcome }) => ({ ...counts, [outcome]: (counts[outcome] ?? 0) + 1 }), {});

  it('is claimed by one of 64 at once over two processes; the rest are told that it is under way', async () => {
    const [order, offered] = await paid();
    const claims = await Promise.all(Array.from({ length: 64 }, () => world.claim(order, offered)));
    expect(outcomes(claims)).toEqual({ claimed: 1, in_flight: 63 });
    const claim = asClaimed(claims.find(({ outcome }) => outcome === 'claimed')!);
    expect(claim).toEqual({
      outcome: 'claimed',
      paymentId: offered.offer.payment_id,
      gatewayRequestId: offered.gatewayRequestId,
      fence: 1,
      attempt: 1,
      retryUntil: expect.stringMatching(/Z$/) as string,
      transactionHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
      scheme: 'deposit',
      network: 'eip155:84532',
      money: offered.money,
      listing: order.listing,
    });
    expect(new Date(claim.retryUntil).getTime() - Date.now()).toBeGreaterThan(86_390_000);
  });

  it('is claimed once each by many buyers in one group, in whatever order two processes take them', async () => {
    const all = await Promise.all(Array.from({ length: 32 }, paid));
    const claims = await Promise.all([...all, ...all.toReversed()].map(([order, offered]) => world.claim(order, offered)));
    expect(outcomes(claims)).toEqual({ claimed: 32, in_flight: 32 });
  });

  it('is not claimed for another buyer, listing or body, and stays as it was', async () => {
    const [order, offered] = await paid();
    const before = await rowOf(offered.offer.payment_id);
    expect(await reasonOf(world.claim({ ...order, buyer: newId() }, offered))).toBe('payment_not_found');
    expect(await reasonOf(world.claim(order, offered, { relayRequestId: `0x${digestOf('unknown')}` }))).toBe('payment_not_found');
    expect(await reasonOf(world.claim(order, offered, { listingId: newId() }))).toBe('listing_mismatch');
    expect(await reasonOf(world.claim(order, offered, { bodyDigest: digestOf('another body') }))).toBe('request_body_mismatch');
    expect(await rowOf(offered.offer.payment_id)).toEqual(before);
    expect(await world.claim(order, offered)).toMatchObject({ outcome: 'claimed', attempt: 1 });
  });

  it('says how long its lease still runs, and is claimed anew with a higher fence once it is over', async () => {
    const [order, offered] = await paid();
    const first = asClaimed(await world.claim(order, offered, { leaseMs: 60_000 }));
    const second = await world.claim(order, offered);
    if (second.outcome !== 'in_flight') throw new Error(second.outcome);
    expect(second.retryAfterMs).toBeGreaterThan(55_000);
    expect(second.retryAfterMs).toBeLessThanOrEqual(60_000);

    await endLeaseOf(first.paymentId);
    const third = asClaimed(await world.claim(order, offered));
    expect([third.fence, third.attempt, third.gatewayRequestId]).toEqual([2, 2, first.gatewayRequestId]);
    expect(await reasonOf(world.settle(first))).toBe('claim_lost');
    expect(await reasonOf(world.release(first))).toBe('claim_lost');
    expect(await world.stateOf(first.paymentId)).toBe('in_flight');
    await world.settle(third);
  });

  it('goes back for another attempt when it is released, as often as it is said', async () => {
    const [order, offered] = await paid();
    const first = asClaimed(await world.claim(order, offered));
    const { retryUntil } = await world.release(first);
    expect(await world.release(first)).toEqual({ retryUntil });
    expect(retryUntil).toBe(first.retryUntil);
    expect(await reasonOf(world.settle(first))).toBe('claim_lost');
    const second = asClaimed(await world.claim(order, offered));
    expect([second.fence, second.retryUntil]).toEqual([2, first.retryUntil]);
    expect(await reasonOf(world.release(first))).toBe('claim_lost');
    await world.settle(second);
  });

  it('is charged once, however often and by however many it is settled, and answers the same each time', async () => {
    const [order, offered] = await paid();
    const claim = asClaimed(await world.claim(order, offered));
    const settled = await Promise.all(Array.from({ length: 64 }, () => world.settle(claim)));
    expect(new Set(settled.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(await world.settle(claim)).toEqual(settled[0]);
    expect(await world.settle({ ...claim, fence: 99 }, { responseDigest: digestOf('late') })).toEqual(settled[0]);
    expect(await world.claim(order, offered)).toEqual({ outcome: 'completed', gatewayRequestId: claim.gatewayRequestId, transfer: null });
    expect(await reasonOf(world.release(claim))).toBe('claim_lost');

    const events = (await world.heard(paymentCompleted)).filter(({ paymentId }) => paymentId === claim.paymentId);
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
        sellerStatusCode: 200,
        latencyMs: 12,
        requestDigest: digestOf('request'),
        responseDigest: digestOf('response'),
        transactionHash: claim.transactionHash,
        completedAt: settled[0]!.completedAt,
      },
    ]);
  });

  it('does not fail its neighbours in a group: the good are charged, the lost are told so', async () => {
    const claims = await Promise.all(Array.from({ length: 20 }, async () => asClaimed(await world.claim(...(await paid())))));
    const settled = await Promise.allSettled(claims.flatMap((claim, index) => [world.settle(index % 2 === 0 ? claim : { ...claim, fence: 7 }), world.settle({ ...claim, paymentId: newId() })]));
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect(await Promise.all(claims.map(({ paymentId }) => world.stateOf(paymentId)))).toEqual(claims.map((_, index) => (index % 2 === 0 ? 'completed' : 'in_flight')));
  });

  it('is settled or taken over, never both, when a late settlement meets a new claim', async () => {
    for (let round = 0; round < 15; round += 1) {
      const [order, offered] = await paid();
      const first = asClaimed(await world.claim(order, offered));
      await endLeaseOf(first.paymentId);
      const [settled, claimed] = await Promise.allSettled([world.settle(first), world.claim(order, offered)]);
      const taken = claimed.status === 'fulfilled' && claimed.value.outcome === 'claimed';
      expect(taken).toBe(settled.status === 'rejected');
      if (taken) await world.settle(claimed.value as Extract<Claim, { outcome: 'claimed' }>);
    }
  });
});
