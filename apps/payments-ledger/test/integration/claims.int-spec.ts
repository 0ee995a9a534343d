import { paymentCompleted } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import type { Refusal } from '@market/messaging';
import { eventually } from '@market/testing';
import {
  asClaimed,
  digestOf,
  newOrder,
  reasonOf,
  startLedger,
  type Claim,
  type LedgerHarness,
  type Offered,
  type Order,
} from '../support/ledger-harness.js';

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
  const endLeaseOf = (paymentId: string, secondsAgo = 1): Promise<unknown> =>
    harness.db.inspect(
      "UPDATE payments_ledger.payments SET lease_until = now() - $2 * interval '1 second' WHERE id = $1",
      [paymentId, secondsAgo],
    );
  const outcomes = (claims: Claim[]): Record<string, number> =>
    claims.reduce<Record<string, number>>(
      (counts, { outcome }) => ({ ...counts, [outcome]: (counts[outcome] ?? 0) + 1 }),
      {},
    );

  it('is claimed by one of 64 at once over two processes; the rest are told that it is under way', async () => {
    const [order, offered] = await paid();
    const claims = await Promise.all(Array.from({ length: 64 }, () => harness.claim(order, offered)));
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
    const claims = await Promise.all(
      [...all, ...all.toReversed()].map(([order, offered]) => harness.claim(order, offered)),
    );
    expect(outcomes(claims)).toEqual({ claimed: 32, in_flight: 32 });
  });

  it('is not claimed for another buyer, listing or body, and stays as it was', async () => {
    const [order, offered] = await paid();
    const before = await rowOf(offered.offer.payment_id);
    expect(await reasonOf(harness.claim({ ...order, buyer: newId() }, offered))).toBe('payment_not_found');
    expect(await reasonOf(harness.claim(order, offered, { relayRequestId: `0x${digestOf('unknown')}` }))).toBe(
      'payment_not_found',
    );
    expect(await reasonOf(harness.claim(order, offered, { listingId: newId() }))).toBe('listing_mismatch');
    expect(await reasonOf(harness.claim(order, offered, { bodyDigest: digestOf('another body') }))).toBe(
      'request_body_mismatch',
    );
    expect(await rowOf(offered.offer.payment_id)).toEqual(before);
    expect(await harness.claim(order, offered)).toMatchObject({ outcome: 'claimed', attempt: 1 });
  });

  it('is claimed anew with a higher fence once its lease is over', async () => {
    const [order, offered] = await paid();
    const first = asClaimed(await harness.claim(order, offered));
    expect(await harness.claim(order, offered)).toEqual({
      outcome: 'in_flight',
      gatewayRequestId: first.gatewayRequestId,
    });

    await endLeaseOf(first.paymentId);
    const third = asClaimed(await harness.claim(order, offered));
    expect([third.fence, third.attempt, third.gatewayRequestId]).toEqual([2, 2, first.gatewayRequestId]);
    expect(await reasonOf(harness.settle(first))).toBe('claim_lost');
    expect(await reasonOf(harness.release(first))).toBe('claim_lost');
    expect(await harness.stateOf(first.paymentId)).toBe('in_flight');
    await harness.settle(third);
  });

  it('is not claimed anew when its lease is over after its window: what its seller delivers now may not be charged any more', async () => {
    const [order, offered] = await paid();
    const claim = asClaimed(await harness.claim(order, offered));
    await endLeaseOf(claim.paymentId);
    await harness.db.inspect(
      "UPDATE payments_ledger.payments SET retry_until = now() - interval '1 second' WHERE id = $1",
      [claim.paymentId],
    );
    expect(await harness.claim(order, offered)).toMatchObject({ outcome: 'in_flight' });
    // An answer that was delivered in time is still charged.
    await harness.settle(claim);
  });

  it('is claimed anew when its holder is gone or does not name it; not while its holder names it, nor while nobody is heard', async () => {
    const [alive, gone] = [newId(), newId()];
    const holders = { named: alive, unnamed: alive, orphaned: gone, 'orphaned, its window over': gone };
    const names = Object.keys(holders) as (keyof typeof holders)[];
    const claims = new Map(
      await Promise.all(
        names.map(async (name) => {
          const [order, offered] = await paid();
          const first = asClaimed(await harness.claim(order, offered, { holderId: holders[name] }));
          return [
            name,
            { first, again: async () => (await harness.claim(order, offered, { holderId: alive })).outcome },
          ] as const;
        }),
      ),
    );
    const idsOf = (...names: (keyof typeof holders)[]): string[] =>
      names.map((name) => claims.get(name)!.first.paymentId);
    const again = (...names: (keyof typeof holders)[]): Promise<string[]> =>
      Promise.all(names.map((name) => claims.get(name)!.again()));
    // The claims are old enough for their holder to have announced them.
    await harness.db.inspect(
      "UPDATE payments_ledger.payments SET claimed_at = now() - interval '1 hour' WHERE id = ANY($1)",
      [idsOf(...names)],
    );
    await harness.db.inspect('UPDATE payments_ledger.payments SET retry_until = now() WHERE id = ANY($1)', [
      idsOf('orphaned, its window over'),
    ]);
    expect(await again(...names)).toEqual(names.map(() => 'in_flight'));

    const startedAt = performance.now();
    const stop = [harness.hold(alive, idsOf('named')), harness.hold(newId(), [])];
    try {
      await eventually(async () => expect(await again('unnamed')).toEqual(['claimed']), { withinMs: 1_000 });
      await eventually(async () => expect(await again('orphaned')).toEqual(['claimed']), { withinMs: 6_000 });
      expect(performance.now() - startedAt).toBeGreaterThan(1_400);
      expect(await again('named', 'orphaned, its window over')).toEqual(['in_flight', 'in_flight']);
    } finally {
      stop.forEach((end) => end());
    }
    const settled = await Promise.all(
      names.map((name) =>
        harness.settle(claims.get(name)!.first).then(
          () => 'charged',
          (error: Refusal) => error.reason,
        ),
      ),
    );
    expect(settled).toEqual(['charged', 'claim_lost', 'claim_lost', 'charged']);
  });

  it('goes back for another attempt when it is released, as often as it is said', async () => {
    const [order, offered] = await paid();
    const first = asClaimed(await harness.claim(order, offered));
    const { retryUntil } = await harness.release(first);
    expect(await harness.release(first)).toEqual({ retryUntil });
    expect(retryUntil).toBe(first.retryUntil);
    expect(await reasonOf(harness.settle(first))).toBe('claim_lost');
    const second = asClaimed(await harness.claim(order, offered));
    expect([second.fence, second.retryUntil]).toEqual([2, first.retryUntil]);
    expect(await reasonOf(harness.release(first))).toBe('claim_lost');
    await harness.settle(second);
  });

  it('is charged once, however often and by however many it is settled, and answers the same each time', async () => {
    const [order, offered] = await paid();
    const claim = asClaimed(await harness.claim(order, offered));
    const settled = await Promise.all(Array.from({ length: 64 }, () => harness.settle(claim)));
    expect(new Set(settled.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(await harness.settle(claim)).toEqual(settled[0]);
    expect(await harness.settle({ ...claim, fence: 99 }, { responseDigest: digestOf('late') })).toEqual(settled[0]);
    expect(await harness.claim(order, offered)).toEqual({
      outcome: 'completed',
      gatewayRequestId: claim.gatewayRequestId,
      transfer: null,
    });
    expect(await reasonOf(harness.release(claim))).toBe('claim_lost');

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
    const claims = await Promise.all(
      Array.from({ length: 20 }, async () => asClaimed(await harness.claim(...(await paid())))),
    );
    const settled = await Promise.allSettled(
      claims.flatMap((claim, index) => [
        harness.settle(index % 2 === 0 ? claim : { ...claim, fence: 7 }),
        harness.settle({ ...claim, paymentId: newId() }),
      ]),
    );
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect(await Promise.all(claims.map(({ paymentId }) => harness.stateOf(paymentId)))).toEqual(
      claims.map((_, index) => (index % 2 === 0 ? 'completed' : 'in_flight')),
    );
  });

  it('is settled or taken over, never both, when a late settlement meets a new claim', async () => {
    for (let round = 0; round < 15; round += 1) {
      const [order, offered] = await paid();
      const first = asClaimed(await harness.claim(order, offered));
      await endLeaseOf(first.paymentId);
      const [settled, claimed] = await Promise.allSettled([harness.settle(first), harness.claim(order, offered)]);
      const taken = claimed.status === 'fulfilled' && claimed.value.outcome === 'claimed';
      expect(taken).toBe(settled.status === 'rejected');
      if (taken) await harness.settle(claimed.value as Extract<Claim, { outcome: 'claimed' }>);
    }
  });
});
