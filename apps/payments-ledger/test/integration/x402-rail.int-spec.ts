import type { Refusal } from '@market/messaging';
import { eventually } from '@market/testing';
import { getAddress } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import {
  asClaimed,
  newOrder,
  reasonOf,
  type Claim,
  type Claimed,
  type Offered,
  type Order,
} from '../support/ledger-harness.js';
import { signed } from '../support/signed-payload.js';
import { ON_CHAIN, PAY_TO, startX402Ledger, type X402Ledger } from '../support/x402-ledger.js';

describe('the x402 rail on a chain', () => {
  let harness: X402Ledger;
  beforeAll(async () => {
    harness = await startX402Ledger({
      PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '100',
      PAYMENTS_LEDGER_RESUME_INTERVAL_MS: '100',
      PAYMENTS_LEDGER_X402_FACILITATOR_TIMEOUT_MS: '1500',
    });
  }, 60_000);
  afterEach(() => {
    harness.facilitator.fault = null;
  });
  afterAll(async () => {
    await harness.ledger.reconcile();
    await harness.stop();
  });

  const quoted = async (): Promise<[Order, Offered]> => {
    const order = newOrder();
    return [order, await harness.ledger.quote(order, ON_CHAIN)];
  };
  const held = async (): Promise<{ order: Order; offered: Offered; authorization: string; claim: Claimed }> => {
    const [order, offered] = await quoted();
    const authorization = await signed(offered, harness.chain.payerAccount as never);
    return {
      order,
      offered,
      authorization,
      claim: asClaimed(await harness.ledger.claim(order, offered, { authorization })),
    };
  };
  const nonceOf = (authorization: string): string =>
    (JSON.parse(authorization) as { payload: { authorization: { nonce: string } } }).payload.authorization.nonce;

  it('asks for a signature that pays the one address there is, and names none for a transfer', async () => {
    const offers = [(await quoted())[1].offer, (await quoted())[1].offer];
    for (const { provider, requirements, retry_headers, x402 } of offers) {
      expect({ provider, requirements, scheme: retry_headers['X-Market-Payment-Scheme'] }).toMatchObject({
        provider: 'x402',
        requirements: { depositAddress: null, amount: '0.25', currency: 'USDC', network: 'eip155:31337' },
        scheme: 'exact',
      });
      expect(x402).toMatchObject({ scheme: 'exact', asset: getAddress(harness.usdc), payTo: PAY_TO, amount: '250000' });
    }
  });

  it('is not paid by a transfer to that address', async () => {
    const [order, offered] = await quoted();
    await harness.chain.send(harness.usdc, 'transfer', [PAY_TO, 250_000n]);
    expect(await harness.ledger.claim(order, offered)).toEqual({ outcome: 'unpaid', offer: offered.offer });
    await harness.ledger.db.inspect(
      "UPDATE payments_ledger.payments SET expires_at = now() - interval '1 second' WHERE id = $1",
      [offered.offer.payment_id],
    );
    await eventually(async () => expect(await harness.ledger.stateOf(offered.offer.payment_id)).toBe('expired'));
  });

  it('moves the money when the answer is settled, and once', async () => {
    const before = await harness.chain.balanceOf(harness.usdc, PAY_TO);
    const { claim } = await held();
    expect(await harness.chain.balanceOf(harness.usdc, PAY_TO)).toBe(before);
    const { transfer } = await harness.ledger.settle(claim);
    expect(await harness.ledger.settle(claim)).toMatchObject({ transfer });
    expect((await harness.chain.balanceOf(harness.usdc, PAY_TO)) - before).toBe(250_000n);
    expect(await harness.chain.node.request('eth_getTransactionReceipt', [transfer!.transaction])).toMatchObject({
      status: '0x1',
    });
  });

  it.each(['break-after', 'nonsense-after', 'nameless', 'late'] as const)(
    'charges once for what a facilitator moved, which then did %s',
    async (fault) => {
      const before = await harness.chain.balanceOf(harness.usdc, PAY_TO);
      const { claim } = await held();
      harness.facilitator.fault = fault;
      await harness.ledger
        .settle(claim)
        .catch((error: unknown) => expect(error).toMatchObject({ reason: 'settlement_unknown' }));
      await eventually(async () => expect(await harness.ledger.stateOf(claim.paymentId)).toBe('completed'), {
        withinMs: 20_000,
      });
      expect((await harness.chain.balanceOf(harness.usdc, PAY_TO)) - before).toBe(250_000n);
    },
  );

  it('charges for what its payer handed in by itself', async () => {
    const { claim, authorization } = await held();
    const { from, to, value, validAfter, validBefore, nonce } = (
      JSON.parse(authorization) as { payload: { authorization: Record<string, string> } }
    ).payload.authorization;
    const { signature } = (JSON.parse(authorization) as { payload: { signature: string } }).payload;
    const transaction = await harness.chain.send(harness.usdc, 'transferWithAuthorization', [
      from,
      to,
      BigInt(value!),
      BigInt(validAfter!),
      BigInt(validBefore!),
      nonce,
      signature,
    ]);
    expect((await harness.ledger.settle(claim)).transfer).toMatchObject({ transaction });
  });

  it('charges nothing for what its payer took back, once that is sure, and the offer can be paid again', async () => {
    const { order, offered, claim, authorization } = await held();
    await harness.chain.send(harness.usdc, 'cancelAuthorization', [nonceOf(authorization)]);
    expect(await reasonOf(harness.ledger.settle(claim))).toBe('settlement_unknown');
    expect(await harness.ledger.claim(order, offered)).toMatchObject({ outcome: 'pending' });
    await harness.chain.pass(700);
    await eventually(async () => expect(await harness.ledger.stateOf(claim.paymentId)).toBe('pending'), {
      withinMs: 20_000,
    });
    expect(await harness.ledger.claim(order, offered, { authorization })).toMatchObject({ outcome: 'rejected' });
  });
});

describe.each([
  ['a chain tells what it holds', {}, 1],
  ['nobody tells what it holds', { PAYMENTS_LEDGER_X402_CHAINS: 'eip155:31337' }, 10],
])('a wallet that signs for more than it has, where %s', (_where, env, bound) => {
  let harness: X402Ledger;
  beforeAll(async () => {
    harness = await startX402Ledger(env);
  }, 60_000);
  afterAll(async () => {
    await harness.ledger.reconcile();
    await harness.stop();
  });

  it('has so much work done for it and no more, and pays first after that', async () => {
    const { ledger, chain, usdc } = harness;
    const wallet = privateKeyToAccount(generatePrivateKey());
    const fund = (calls: bigint): Promise<unknown> => chain.send(usdc, 'transfer', [wallet.address, calls * 250_000n]);
    const sign = async (): Promise<() => Promise<[Order, Offered, Claim | Refusal]>> => {
      const order = newOrder();
      const offered = await ledger.quote(order, ON_CHAIN);
      const authorization = await signed(offered, wallet);
      return async () => [
        order,
        offered,
        await ledger.claim(order, offered, { authorization }).catch((error: Refusal) => error),
      ];
    };
    const burst = async () =>
      Promise.all((await Promise.all(Array.from({ length: 25 }, sign))).map((handIn) => handIn()));
    await fund(1n);
    const first = await burst();
    const claims = first.flatMap(([, , claim]) => ('outcome' in claim && claim.outcome === 'claimed' ? [claim] : []));
    expect(claims).toHaveLength(bound);
    for (const [, , refused] of first.filter(([, , claim]) => !claims.includes(claim as Claimed))) {
      expect(refused).toMatchObject(
        bound === 1
          ? { outcome: 'rejected', reason: 'insufficient_funds' }
          : {
              reason: 'too_many_unsettled',
              declaration: { kind: 'rate-limited' },
              details: { limit: 10, retry_after_seconds: 1 },
            },
      );
    }
    const settled = await Promise.allSettled(claims.map((claim) => ledger.settle(claim)));
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);

    const second = await burst();
    expect(second.filter(([, , claim]) => 'outcome' in claim && claim.outcome === 'claimed')).toEqual([]);
    if (bound === 1) return;

    // The money comes before the work now, and is this call's whatever becomes of it.
    await ledger.db.inspect("UPDATE payments_ledger.authorizations SET state = 'refused' WHERE state = 'settling'");
    await ledger.db.inspect(
      "UPDATE payments_ledger.payments SET state = 'expired', authorization_id = NULL WHERE state = 'indeterminate'",
    );
    await fund(2n);
    const before = await chain.balanceOf(usdc, PAY_TO);
    const [order, offered, paid] = await (await sign())();
    const claimed = asClaimed(paid as Claim);
    expect([claimed.transactionHash, await chain.balanceOf(usdc, PAY_TO)]).toEqual([
      expect.stringMatching(/^0x[0-9a-f]{64}$/),
      before + 250_000n,
    ]);
    await ledger.release(claimed);
    const again = asClaimed(await ledger.claim(order, offered));
    expect((await ledger.settle(again)).transfer).toMatchObject({
      transaction: claimed.transactionHash,
      payer: wallet.address.toLowerCase(),
    });
    expect(await chain.balanceOf(usdc, PAY_TO)).toBe(before + 250_000n);
    // Once one is settled its seller is called before that again.
    expect(asClaimed((await (await sign())())[2] as Claim).transactionHash).toBeNull();
  }, 60_000);
});
