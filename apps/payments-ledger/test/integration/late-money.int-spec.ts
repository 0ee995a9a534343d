import { paymentRefundDue } from '@market/contracts/payments-ledger';
import { eventually } from '@market/testing';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { ON_CHAIN, startEvmLedger, type EvmLedger } from '../support/evm-ledger.js';
import { asClaimed, newOrder, type Claimed, type Offered, type Order } from '../support/ledger-world.js';

const PRICE = 250_000n;

describe('money that comes when its payment is over', () => {
  let world: EvmLedger;
  beforeAll(async () => {
    world = await startEvmLedger({ replicas: 2 });
  }, 60_000);
  afterAll(async () => {
    await world.ledger.reconcile();
    await world.stop();
  });

  const quoted = async (): Promise<{ order: Order; offered: Offered }> => {
    const order = newOrder();
    return { order, offered: await world.ledger.quote(order, ON_CHAIN) };
  };
  const signed = async ({ offer }: Offered): Promise<string> => {
    const { payload } = await new ExactEvmScheme(world.chain.payerAccount as never).createPaymentPayload(2, offer.x402 as never);
    return JSON.stringify({ x402Version: 2, accepted: offer.x402, payload });
  };
  const claimedWithSignature = async (order: Order, offered: Offered): Promise<Claimed> => asClaimed(await world.ledger.claim(order, offered, { authorization: await signed(offered) }));
  const paidInFull = async () => {
    const { order, offered } = await quoted();
    await world.send(offered, PRICE);
    await world.final();
    await world.ledger.settle(asClaimed(await world.ledger.claim(order, offered)));
    return { order, offered };
  };
  const stateOf = ({ offer }: Offered) => world.ledger.stateOf(offer.payment_id);

  it('is owed back, once, however often and by however many it is looked for', async () => {
    const { order, offered } = await quoted();
    await world.end(offered);
    expect(await stateOf(offered)).toBe('expired');
    await world.send(offered, PRICE);
    await world.lookAgain(offered);
    // Not final yet.
    expect([await stateOf(offered), await world.owed(offered)]).toEqual(['expired', []]);
    await world.final();
    for (let times = 1; times <= 3; times += 1) await world.lookAgain(offered);
    expect([await stateOf(offered), await world.owed(offered)]).toEqual(['refund_due', [['paid_late', '250000']]]);
    expect((await world.ledger.heard(paymentRefundDue)).filter(({ paymentId }) => paymentId === offered.offer.payment_id)).toMatchObject([{ reason: 'paid_late', amountMicros: '250000' }]);
    expect(await world.ledger.claim(order, offered)).toEqual({ outcome: 'not_payable', reason: 'refund_due' });
  });

  it('is owed back in as many parts as it was seen in, where more follows', async () => {
    const { offered } = await quoted();
    await world.end(offered);
    for (const part of [1n, 100_000n, 400_000n]) {
      await world.send(offered, part);
      await world.final();
      await world.lookAgain(offered);
    }
    expect(await world.owed(offered)).toEqual([['paid_late', '1'], ['paid_late 100001', '100000'], ['paid_late 500001', '400000']]);
  });

  it('is owed back beside a payment that is complete, which stays as it is', async () => {
    const { order, offered } = await paidInFull();
    const before = await world.ledger.db.inspect('SELECT state, transaction_hash, completed_at FROM payments_ledger.payments WHERE id = $1', [offered.offer.payment_id]);
    await world.send(offered, 40n);
    await world.final();
    await world.lookAgain(offered);
    await world.lookAgain(offered);
    await world.send(offered, PRICE);
    await world.final();
    await world.lookAgain(offered);
    expect(await world.owed(offered)).toEqual([['overpaid 250040', '40'], ['overpaid 500040', '250000']]);
    expect(await world.ledger.db.inspect('SELECT state, transaction_hash, completed_at FROM payments_ledger.payments WHERE id = $1', [offered.offer.payment_id])).toEqual(before);
    expect(await world.outcomeOf(order, offered)).toBe('completed');
  });

  it('is owed back beside a signed payment, and what was signed is not', async () => {
    const { order, offered } = await quoted();
    const claim = await claimedWithSignature(order, offered);
    await world.send(offered, PRICE);
    await world.ledger.settle(claim);
    await world.final();
    expect(await world.chain.balanceOf(world.usdc, offered.offer.requirements.depositAddress as `0x${string}`)).toBe(2n * PRICE);
    await world.lookAgain(offered);
    expect([await stateOf(offered), await world.owed(offered)]).toEqual(['completed', [['overpaid 500000', '250000']]]);
  });

  it('is owed back where a signature lapsed unused', async () => {
    const { order, offered } = await quoted();
    const claim = await claimedWithSignature(order, offered);
    await world.ledger.release(claim);
    await world.ledger.db.inspect("UPDATE payments_ledger.payments SET retry_until = now() - interval '1 second' WHERE id = $1", [claim.paymentId]);
    await eventually(async () => expect(await stateOf(offered)).toBe('cancelled'), { withinMs: 20_000 });
    await world.send(offered, PRICE);
    await world.final();
    await world.lookAgain(offered);
    expect([await stateOf(offered), await world.owed(offered)]).toEqual(['refund_due', [['paid_late', '250000']]]);
  });

  it('is looked for at widening intervals, until everything was seen after the last day', async () => {
    const { offered } = await quoted();
    await world.end(offered);
    const nextAfter = async (age: string): Promise<number | null> => {
      await world.ledger.db.inspect(`UPDATE payments_ledger.payments SET expires_at = now() - interval '${age}' WHERE id = $1`, [offered.offer.payment_id]);
      await world.lookAgain(offered);
      const [row] = await world.ledger.db.inspect<{ minutes: string | null }>("SELECT round(extract(epoch FROM look_again_at - now()) / 60) AS minutes FROM payments_ledger.payments WHERE id = $1", [offered.offer.payment_id]);
      return row!.minutes === null ? null : Number(row!.minutes);
    };
    expect([await nextAfter('10 seconds'), await nextAfter('1 hour'), await nextAfter('6 days')]).toEqual([1, 30, 3 * 24 * 60]);
    await world.send(offered, 1n);
    expect(await nextAfter('8 days')).toBe(4 * 24 * 60);
    await world.final();
    expect(await nextAfter('8 days')).toBeNull();
    expect(await world.owed(offered)).toEqual([['paid_late', '1']]);
  });

  it('costs nothing for payments of the sandbox, where nothing comes by itself', async () => {
    const { offer } = await world.ledger.quote(newOrder(), { originCurrency: 'SOL' });
    expect(await world.ledger.db.inspect('SELECT look_again_at FROM payments_ledger.payments WHERE id = $1', [offer.payment_id])).toEqual([{ look_again_at: null }]);
  });
});
