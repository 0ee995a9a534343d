import { testPayer } from '../test/test-payer.js';
import { payOnce, RecentPayments, type KeptPayment, type Payer } from './payer.js';
import type { Offer } from './types.js';

const offer = (id: string): Offer => ({
  relay_request_id: id,
  requirements: {
    depositAddress: '0x1',
    amount: '1',
    currency: 'USDC',
    relayRequestId: id,
    expiresAt: '2030-01-01T00:00:00Z',
  },
});

/** A rail whose money moves when a transaction is sent for the first time, however often that is tried. */
class Chain {
  readonly moved: string[] = [];
  prepared = 0;
  /** How many of the next sends get lost, after or before they took effect. */
  lost: ('before' | 'after')[] = [];

  payer(): Payer {
    return {
      rail: 'chain',
      canPay: () => true,
      prepare: async ({ relay_request_id: id }) => ({ transaction: `${id}#${(this.prepared += 1)}` }),
      send: async ({ transaction }) => {
        const fault = this.lost.shift();
        if (fault === 'before') throw new Error('lost');
        if (!this.moved.includes(transaction!)) this.moved.push(transaction!);
        if (fault === 'after') throw new Error('lost');
      },
    };
  }
}

describe('payOnce', () => {
  it.each(['before', 'after'] as const)(
    'sends what was kept again when sending was lost %s it took effect',
    async (moment) => {
      const [chain, store] = [new Chain(), new RecentPayments()];
      chain.lost = [moment];
      await expect(payOnce(offer('a'), chain.payer(), store)).rejects.toThrow('lost');
      await payOnce(offer('a'), chain.payer(), store);
      expect([chain.prepared, chain.moved]).toEqual([1, ['a#1']]);
    },
  );

  it('moves nothing that could not be kept', async () => {
    const chain = new Chain();
    const full = { find: async () => undefined, keep: () => Promise.reject(new Error('disk full')) };
    await expect(payOnce(offer('a'), chain.payer(), full)).rejects.toThrow('disk full');
    expect(chain.moved).toEqual([]);
  });

  it('moves the money of one offer once, whoever pays it at the same time', async () => {
    const [chain, store] = [new Chain(), new RecentPayments()];
    const payments = await Promise.all(Array.from({ length: 20 }, () => payOnce(offer('a'), chain.payer(), store)));
    expect(new Set(payments.map(({ transaction }) => transaction)).size).toBe(1);
    expect(chain.moved).toHaveLength(1);
  });

  it('makes a signature anew, which pays nothing twice, and keeps the first', async () => {
    let signed = 0;
    const [payer, store] = [
      testPayer(async () => ({ headers: { proof: String((signed += 1)) } })),
      new RecentPayments(),
    ];
    expect((await payOnce(offer('a'), payer, store)).headers).toEqual({ proof: '1' });
    expect((await payOnce(offer('a'), payer, store)).headers).toEqual({ proof: '2' });
    expect((await store.find('a'))?.headers).toEqual({ proof: '1' });
  });

  it('remembers the last payments of the process, and not all there ever were', async () => {
    const store = new RecentPayments();
    const kept = (id: string): KeptPayment => ({ relayRequestId: id, rail: 'chain', offer: offer(id) });
    for (let n = 0; n <= 10_000; n += 1) await store.keep(kept(String(n)));
    expect([await store.find('0'), await store.find('1')]).toEqual([undefined, kept('1')]);
  });
});
