import { quoteExact, quoteKeyless } from '@market/contracts/payments-ledger';
import { newRequestContext, type Refusal } from '@market/messaging';
import { eventually } from '@market/testing';
import { getAddress, type Address, type Hash } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import {
  asAuthorized,
  BRIEFLY_MS,
  newOrder,
  reasonOf,
  type Authorization,
  type Authorized,
  type Offered,
  type Order,
} from '../support/ledger-harness.js';
import { signed } from '../support/signed-payload.js';
import { payoutOf } from '../../../gateway/test/support/fake-wallets.js';
import { ON_CHAIN, OPERATOR, startX402Ledger, TO_OPERATOR, type X402Ledger } from '../support/x402-ledger.js';

/** Returns the recipient of signed payments for an order. */
type PayeeOf = (order: Order) => Address;
const sellersWallet: PayeeOf = ({ listing }) => payoutOf(listing.sellerId);

describe.each<[string, Record<string, string>, PayeeOf]>([
  ["the seller's wallet", {}, sellersWallet],
  ["the operator's address", TO_OPERATOR, () => OPERATOR],
])('the x402 rail on a chain, which pays %s', (_whom, payTo, payeeOf) => {
  let harness: X402Ledger;
  beforeAll(async () => {
    harness = await startX402Ledger({
      ...payTo,
      PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '100',
      PAYMENTS_LEDGER_RESUME_INTERVAL_MS: '100',
      PAYMENTS_LEDGER_X402_FACILITATOR_TIMEOUT_MS: '1500',
      PAYMENTS_LEDGER_X402_RPC_TIMEOUT_MS: '3000',
    });
  });
  afterEach(() => {
    harness.facilitator.fault = null;
    harness.facilitator.lie = null;
  });
  afterAll(() => harness.stop());

  const quoted = async (): Promise<[Order, Offered]> => {
    const order = newOrder();
    return [order, await harness.ledger.quote(order, ON_CHAIN)];
  };
  const held = async (): Promise<{ order: Order; offered: Offered; authorization: string; claim: Authorized }> => {
    const [order, offered] = await quoted();
    const authorization = await signed(offered, harness.chain.payerAccount as never);
    return {
      order,
      offered,
      authorization,
      claim: asAuthorized(await harness.ledger.authorize(order, offered, { authorization })),
    };
  };
  const receivedFor = (order: Order): Promise<bigint> => harness.chain.balanceOf(harness.usdc, payeeOf(order));
  const nonceOf = (authorization: string): string =>
    (JSON.parse(authorization) as { payload: { authorization: { nonce: string } } }).payload.authorization.nonce;

  it('asks for a signature that pays it, and names no address for a transfer', async () => {
    for (const [order, { offer }] of [await quoted(), await quoted()]) {
      const { provider, requirements, retry_headers, x402 } = offer;
      expect({ provider, requirements, scheme: retry_headers['X-Market-Payment-Scheme'] }).toMatchObject({
        provider: 'x402',
        requirements: { depositAddress: null, amount: '0.25', currency: 'USDC', network: 'eip155:31337' },
        scheme: 'exact',
      });
      expect(x402[0]).toMatchObject({
        scheme: 'exact',
        asset: getAddress(harness.usdc),
        payTo: payeeOf(order),
        amount: '250000',
      });
    }
  });

  describe('where several chains are open', () => {
    const asked = async (): Promise<{ order: Order; offered: Offered; other: Offered }> => {
      const order = newOrder();
      const offered = await harness.ledger.quote(order);
      expect(offered.offer.x402.map(({ network }) => network)).toEqual(['eip155:31337', 'eip155:84532']);
      const [, elsewhere] = offered.offer.x402;
      return { order, offered, other: { ...offered, offer: { ...offered.offer, x402: [elsewhere!] } } };
    };
    const payer = privateKeyToAccount(generatePrivateKey());

    it('is paid on the chain that is signed for, which it goes to', async () => {
      const { order, offered, other } = await asked();
      const authorization = await signed(other, payer);
      const claim = asAuthorized(await harness.ledger.authorize(order, offered, { authorization }));
      expect(claim).toMatchObject({ provider: 'sandbox', scheme: 'exact', network: 'eip155:84532' });
      expect(claim.paymentId).toBe(offered.offer.payment_id);
      const { transfer } = await harness.ledger.settle(claim);
      expect(transfer).toMatchObject({ network: 'eip155:84532', payer: payer.address.toLowerCase() });
      expect(await receivedFor(order)).toBe(0n);
    });

    it('may be paid on another chain after a signature was refused on its own', async () => {
      const { order, offered, other } = await asked();
      const poor = privateKeyToAccount(generatePrivateKey());
      expect(
        await harness.ledger.authorize(order, offered, { authorization: await signed(offered, poor) }),
      ).toMatchObject({ outcome: 'rejected', offer: { x402: offered.offer.x402 } });
      const claims = await Promise.all(
        [other, other].map(async (each) =>
          harness.ledger.authorize(order, offered, { authorization: await signed(each, payer) }),
        ),
      );
      // Two signatures of one moment: one pays, and the other request is that call again.
      expect(new Set(claims.map((claim) => asAuthorized(claim).paymentId))).toEqual(
        new Set([offered.offer.payment_id]),
      );
      await harness.ledger.settle(asAuthorized(claims[0]!));
    });

    it('is not paid by a signature for other terms, or for a chain that is not open', async () => {
      const { order, offered: named, other } = await asked();
      const altered = await signed(other, payer, { amount: '1' });
      expect(await harness.ledger.authorize(order, named, { authorization: altered })).toMatchObject({
        outcome: 'rejected',
        reason: 'accepted_mismatch',
      });
      const unknown = await signed(other, payer, { network: 'eip155:1' });
      expect(await harness.ledger.authorize(order, named, { authorization: unknown })).toMatchObject({
        outcome: 'rejected',
        reason: 'invalid_network',
      });
    });
  });

  it('is not paid by a transfer to that address', async () => {
    const [order, offered] = await quoted();
    await harness.chain.send(harness.usdc, 'transfer', [payeeOf(order), 250_000n]);
    expect(await harness.ledger.authorize(order, offered)).toEqual({ outcome: 'unpaid', offer: offered.offer });
    await harness.ledger.db.inspect(
      "UPDATE payments_ledger.payments SET expires_at = now() - interval '1 second' WHERE id = $1",
      [offered.offer.payment_id],
    );
    await eventually(async () => expect(await harness.ledger.stateOf(offered.offer.payment_id)).toBe('expired'));
  });

  it('moves the money when the answer is settled, and once', async () => {
    const { order, claim } = await held();
    const before = await receivedFor(order);
    const { transfer } = await harness.ledger.settle(claim);
    expect(await harness.ledger.settle(claim)).toMatchObject({ transfer });
    expect((await receivedFor(order)) - before).toBe(250_000n);
    expect(await harness.chain.node.request('eth_getTransactionReceipt', [transfer!.transaction])).toMatchObject({
      status: '0x1',
    });
  });

  it.each(['break-after', 'nonsense-after', 'nameless', 'late'] as const)(
    'charges once for what a facilitator moved, which then did %s',
    async (fault) => {
      const { order, claim } = await held();
      const before = await receivedFor(order);
      harness.facilitator.fault = fault;
      await harness.ledger
        .settle(claim)
        .catch((error: unknown) => expect(error).toMatchObject({ reason: 'settlement_unknown' }));
      await eventually(async () => expect(await harness.ledger.stateOf(claim.paymentId)).toBe('completed'), {
        withinMs: 20_000,
      });
      expect((await receivedFor(order)) - before).toBe(250_000n);
    },
  );

  it.each(['names-nothing', 'names-another-call', 'pays-another', 'pays-less'] as const)(
    'charges nothing on the word of a facilitator that %s, and once for what it settles then',
    async (lie) => {
      const earlier = await held();
      const { transfer } = await harness.ledger.settle(earlier.claim);
      const { order, offered, claim, authorization } = await held();
      const other = { payTo: harness.chain.payer, amount: '250000' };
      const lies = {
        'names-nothing': () => Promise.resolve(`0x${'ab'.repeat(32)}` as const),
        'names-another-call': () => Promise.resolve(transfer!.transaction as Hash),
        'pays-another': async () =>
          harness.chain.handIn(harness.usdc, await signed(offered, harness.chain.payerAccount as never, other)),
        'pays-less': async () =>
          harness.chain.handIn(
            harness.usdc,
            await signed(offered, harness.chain.payerAccount as never, { amount: '1' }),
          ),
      };
      harness.facilitator.lie = await lies[lie]();
      const before = await receivedFor(order);
      expect(await reasonOf(harness.ledger.settle(claim, {}, BRIEFLY_MS))).toBe('settlement_unknown');
      expect(await harness.ledger.stateOf(claim.paymentId)).toBe('indeterminate');
      expect(await harness.ledger.authorize(order, offered, { authorization })).toMatchObject({ outcome: 'pending' });
      expect(await receivedFor(order)).toBe(before);
      harness.facilitator.lie = null;
      await eventually(async () => expect(await harness.ledger.stateOf(claim.paymentId)).toBe('completed'), {
        withinMs: 20_000,
      });
      expect((await receivedFor(order)) - before).toBe(250_000n);
    },
  );

  it('charges for what its payer handed in by itself', async () => {
    const { claim, authorization } = await held();
    const transaction = await harness.chain.handIn(harness.usdc, authorization);
    expect((await harness.ledger.settle(claim)).transfer).toMatchObject({ transaction });
  });

  it('does not let lapse what the chain says was settled, as before a restore: the call is still good for it', async () => {
    const { order, offered, claim, authorization } = await held();
    await harness.ledger.release(claim);
    const transaction = await harness.chain.handIn(harness.usdc, authorization);
    await harness.ledger.db.inspect(
      "UPDATE payments_ledger.payments SET retry_until = now() - interval '1 second' WHERE id = $1",
      [claim.paymentId],
    );
    const again = await eventually(async () => asAuthorized(await harness.ledger.authorize(order, offered)));
    expect(again.transactionHash).toBe(transaction);
    expect((await harness.ledger.settle(again)).transfer).toMatchObject({ transaction });
  });

  it('takes a signature for nothing that its chain has seen and the books have not', async () => {
    const [order, offered] = await quoted();
    const authorization = await signed(offered, harness.chain.payerAccount as never);
    await harness.chain.handIn(harness.usdc, authorization);
    expect(await harness.ledger.authorize(order, offered, { authorization })).toMatchObject({
      outcome: 'rejected',
      reason: 'authorization_used_elsewhere',
    });
  });

  it('charges nothing for what its payer took back, once that is sure, and the offer can be paid again', async () => {
    const { order, offered, claim, authorization } = await held();
    await harness.chain.send(harness.usdc, 'cancelAuthorization', [nonceOf(authorization)]);
    expect(await reasonOf(harness.ledger.settle(claim, {}, BRIEFLY_MS))).toBe('settlement_unknown');
    expect(await harness.ledger.authorize(order, offered)).toMatchObject({ outcome: 'pending' });
    await harness.chain.pass(700);
    await eventually(async () => expect(await harness.ledger.stateOf(claim.paymentId)).toBe('pending'), {
      withinMs: 20_000,
    });
    expect(await harness.ledger.authorize(order, offered, { authorization })).toMatchObject({ outcome: 'rejected' });
  });
});

describe.each([
  ['a chain tells what it holds', {}, 1],
  [
    'nobody tells what it holds',
    { PAYMENTS_LEDGER_X402_CHAINS: 'eip155:31337', PAYMENTS_LEDGER_X402_EIP712: 'eip155:31337=USDC:2' },
    10,
  ],
])('a wallet that signs for more than it has, where %s', (_where, env, bound) => {
  let harness: X402Ledger;
  beforeAll(async () => {
    harness = await startX402Ledger(env);
  });
  afterAll(() => harness.stop());

  it('has so much work done for it and no more, and pays first after that', async () => {
    const { ledger, chain, usdc } = harness;
    const wallet = privateKeyToAccount(generatePrivateKey());
    const fund = (calls: bigint): Promise<unknown> => chain.send(usdc, 'transfer', [wallet.address, calls * 250_000n]);
    const sign = async (): Promise<() => Promise<[Order, Offered, Authorization | Refusal]>> => {
      const order = newOrder();
      const offered = await ledger.quote(order, ON_CHAIN);
      const authorization = await signed(offered, wallet);
      // A busy machine may need longer for 25 verifications at once than a request waits: it is then repeated.
      const claim = async (): Promise<Authorization | Refusal> => {
        const claimed = await ledger.authorize(order, offered, { authorization }).catch((error: Refusal) => error);
        return 'reason' in claimed && claimed.reason === 'dependency_unavailable' ? claim() : claimed;
      };
      return async () => [order, offered, await claim()];
    };
    const burst = async () =>
      Promise.all((await Promise.all(Array.from({ length: 25 }, sign))).map((handIn) => handIn()));
    await fund(1n);
    const first = await burst();
    const claims = first.flatMap(([, , claim]) =>
      'outcome' in claim && claim.outcome === 'authorized' ? [claim] : [],
    );
    expect(claims).toHaveLength(bound);
    for (const [, , refused] of first.filter(([, , claim]) => !claims.includes(claim as Authorized))) {
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
    expect(second.filter(([, , claim]) => 'outcome' in claim && claim.outcome === 'authorized')).toEqual([]);
    if (bound === 1) return;

    // The money now moves before the call and belongs to this call, whatever its result.
    await ledger.db.inspect("UPDATE payments_ledger.authorizations SET state = 'refused' WHERE state = 'settling'");
    await ledger.db.inspect(
      "UPDATE payments_ledger.payments SET state = 'expired', authorization_id = NULL WHERE state = 'indeterminate'",
    );
    // A settlement that the job submitted earlier would spend the new money.
    await harness.facilitator.idle();
    await fund(2n);
    const [order, offered, paid] = await (await sign())();
    const claimed = asAuthorized(paid as Authorization);
    expect([claimed.transactionHash, await chain.balanceOf(usdc, sellersWallet(order))]).toEqual([
      expect.stringMatching(/^0x[0-9a-f]{64}$/),
      250_000n,
    ]);
    await ledger.release(claimed);
    const again = asAuthorized(await ledger.authorize(order, offered));
    expect((await ledger.settle(again)).transfer).toMatchObject({
      transaction: claimed.transactionHash,
      payer: wallet.address.toLowerCase(),
    });
    expect(await chain.balanceOf(usdc, sellersWallet(order))).toBe(250_000n);
    // After one settlement has succeeded, the seller is called before the settlement again.
    expect(asAuthorized((await (await sign())())[2] as Authorization).transactionHash).toBeNull();
  });
});

describe('a seller without an EVM wallet', () => {
  let harness: X402Ledger;
  beforeAll(async () => {
    harness = await startX402Ledger();
  });
  afterAll(() => harness.stop());

  it('is paid over another route, and where that one was asked for not at all', async () => {
    const order = newOrder();
    const { wallets, gateway, edge } = harness.ledger;
    wallets!.set(order.listing.sellerId, null);
    expect((await harness.ledger.quote(order)).offer.provider).toBe('sandbox');
    expect(await reasonOf(harness.ledger.quote(order, ON_CHAIN))).toBe('payment_route_unavailable');
    const { offers } = await gateway.request(
      quoteKeyless,
      { listing: order.listing, priceMicros: '250000' },
      newRequestContext(),
    );
    expect(offers.map(({ provider }) => provider)).toEqual(['sandbox']);
    const other = newOrder();
    const calls = [order, other].map(({ listing, priceMicros }) => ({ sellerId: listing.sellerId, priceMicros }));
    const { terms, payTo } = await edge.request(quoteExact, { calls }, newRequestContext());
    expect(terms.map((taken) => taken.map(({ network }) => network))).toEqual([
      ['eip155:84532'],
      ['eip155:31337', 'eip155:84532'],
    ]);
    expect([payTo, terms[1]!.map((taken) => taken.payTo)]).toEqual([
      null,
      [sellersWallet(other), sellersWallet(other)],
    ]);
  });

  it('is asked for together with 99 others in one request, and not again at once', async () => {
    const asked = harness.ledger.wallets!.asked.length;
    const calls = Array.from({ length: 100 }, () => ({
      sellerId: newOrder().listing.sellerId,
      priceMicros: '250000',
    }));
    for (let times = 0; times < 2; times += 1)
      await harness.ledger.edge.request(quoteExact, { calls }, newRequestContext());
    expect(harness.ledger.wallets!.asked.slice(asked).map((sellers) => sellers.length)).toEqual([100]);
  });
});
