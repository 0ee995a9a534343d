import { eventually } from '@market/testing';
import { getAddress } from 'viem';
import { asClaimed, newOrder, reasonOf, type Claimed, type Offered, type Order } from '../support/ledger-world.js';
import { signed } from '../support/signed-payload.js';
import { ON_CHAIN, PAY_TO, startX402Ledger, type X402Ledger } from '../support/x402-ledger.js';

describe('the x402 rail on a chain', () => {
  let world: X402Ledger;
  beforeAll(async () => {
    world = await startX402Ledger({ PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '100', PAYMENTS_LEDGER_X402_FACILITATOR_TIMEOUT_MS: '400' });
  }, 60_000);
  afterEach(() => {
    world.facilitator.fault = null;
  });
  afterAll(async () => {
    await world.ledger.reconcile();
    await world.stop();
  });

  const quoted = async (): Promise<[Order, Offered]> => {
    const order = newOrder();
    return [order, await world.ledger.quote(order, ON_CHAIN)];
  };
  const held = async (): Promise<{ order: Order; offered: Offered; authorization: string; claim: Claimed }> => {
    const [order, offered] = await quoted();
    const authorization = await signed(offered, world.chain.payerAccount as never);
    return { order, offered, authorization, claim: asClaimed(await world.ledger.claim(order, offered, { authorization })) };
  };
  const nonceOf = (authorization: string): string => (JSON.parse(authorization) as { payload: { authorization: { nonce: string } } }).payload.authorization.nonce;

  it('asks for a signature that pays the one address there is, and names none for a transfer', async () => {
    const offers = [(await quoted())[1].offer, (await quoted())[1].offer];
    for (const { provider, requirements, retry_headers, x402 } of offers) {
      expect({ provider, requirements, scheme: retry_headers['X-Market-Payment-Scheme'] }).toMatchObject({ provider: 'x402', requirements: { depositAddress: null, amount: '0.25', currency: 'USDC', network: 'eip155:31337' }, scheme: 'exact' });
      expect(x402).toMatchObject({ scheme: 'exact', asset: getAddress(world.usdc), payTo: PAY_TO, amount: '250000' });
    }
  });

  it('is not paid by a transfer to that address', async () => {
    const [order, offered] = await quoted();
    await world.chain.send(world.usdc, 'transfer', [PAY_TO, 250_000n]);
    expect(await world.ledger.claim(order, offered)).toEqual({ outcome: 'unpaid', offer: offered.offer });
    await world.ledger.db.inspect("UPDATE payments_ledger.payments SET expires_at = now() - interval '1 second' WHERE id = $1", [offered.offer.payment_id]);
    await eventually(async () => expect(await world.ledger.stateOf(offered.offer.payment_id)).toBe('expired'));
  });

  it('moves the money when the answer is settled, and once', async () => {
    const before = await world.chain.balanceOf(world.usdc, PAY_TO);
    const { claim } = await held();
    expect(await world.chain.balanceOf(world.usdc, PAY_TO)).toBe(before);
    const { transfer } = await world.ledger.settle(claim);
    expect(await world.ledger.settle(claim)).toMatchObject({ transfer });
    expect((await world.chain.balanceOf(world.usdc, PAY_TO)) - before).toBe(250_000n);
    expect(await world.chain.node.request('eth_getTransactionReceipt', [transfer!.transaction])).toMatchObject({ status: '0x1' });
  });

  it.each(['break-after', 'nonsense-after', 'nameless', 'late'] as const)('charges once for what a facilitator moved, which then did %s', async (fault) => {
    const before = await world.chain.balanceOf(world.usdc, PAY_TO);
    const { claim } = await held();
    world.facilitator.fault = fault;
    await world.ledger.settle(claim).catch((error: unknown) => expect(error).toMatchObject({ reason: 'settlement_unknown' }));
    await eventually(async () => expect(await world.ledger.stateOf(claim.paymentId)).toBe('completed'), { withinMs: 20_000 });
    expect((await world.chain.balanceOf(world.usdc, PAY_TO)) - before).toBe(250_000n);
  });

  it('charges for what its payer handed in by itself', async () => {
    const { claim, authorization } = await held();
    const { from, to, value, validAfter, validBefore, nonce } = (JSON.parse(authorization) as { payload: { authorization: Record<string, string> } }).payload.authorization;
    const { signature } = (JSON.parse(authorization) as { payload: { signature: string } }).payload;
    const transaction = await world.chain.send(world.usdc, 'transferWithAuthorization', [from, to, BigInt(value!), BigInt(validAfter!), BigInt(validBefore!), nonce, signature]);
    expect((await world.ledger.settle(claim)).transfer).toMatchObject({ transaction });
  });

  it('charges nothing for what its payer took back, once that is sure, and the offer can be paid again', async () => {
    const { order, offered, claim, authorization } = await held();
    await world.chain.send(world.usdc, 'cancelAuthorization', [nonceOf(authorization)]);
    expect(await reasonOf(world.ledger.settle(claim))).toBe('settlement_unknown');
    expect(await world.ledger.claim(order, offered)).toMatchObject({ outcome: 'pending' });
    await world.chain.pass(700);
    await eventually(async () => expect(await world.ledger.stateOf(claim.paymentId)).toBe('pending'), { withinMs: 20_000 });
    expect(await world.ledger.claim(order, offered, { authorization })).toMatchObject({ outcome: 'rejected' });
  });
});
