import type { KeyPairSigner } from '@solana/kit';
import { eventually } from '@market/testing';
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
import { facilitatorsInOrder, type Asked, type RemoteFacilitator } from '../support/remote-facilitator.js';
import {
  newSigner,
  serveSolanaFacilitator,
  signedOnSolana,
  startSolanaLedger,
  type SolanaLedger,
} from '../support/solana-ledger.js';

const PRICE = 250_000n;
/** After this many blocks, a blockhash has expired in every final block. */
const LIFE_OF_A_BLOCKHASH = 400;

type Behaviour = (asked: Asked) => unknown;

/** A signature on Solana names the account of one facilitator, which alone can settle it. */
describe('two facilitators on Solana, of which the first', () => {
  let harness: SolanaLedger;
  let first: SolanaLedger['facilitator'];
  let second: SolanaLedger['facilitator'];
  beforeAll(async () => {
    harness = await startSolanaLedger(async (node, facilitator) => {
      second = await serveSolanaFacilitator(node);
      return facilitatorsInOrder(facilitator, second);
    });
    first = harness.facilitator;
  }, 120_000);
  afterEach(async () => {
    Object.assign(first, { behaviour: null, fault: null });
    // It is asked first again when it answers again.
    await eventually(async () => expect(await feePayerAsked()).toBe(first.feePayer), { withinMs: 20_000 });
  });
  afterAll(async () => {
    second?.stop();
    await harness?.stop();
  });

  const quoted = async (): Promise<{ order: Order; offered: Offered; seller: KeyPairSigner }> => {
    const order = newOrder();
    const seller = await harness.openWallet(order.listing.sellerId);
    return { order, seller, offered: await harness.ledger.quote(order, { originChainId: harness.node.network }) };
  };
  const feePayerOf = ({ offer }: Offered): string | undefined => offer.x402[0]?.extra.feePayer;
  const feePayerAsked = async (): Promise<string | undefined> => feePayerOf((await quoted()).offered);
  const sign = async (offered: Offered): Promise<string> => {
    const payer = await newSigner();
    await harness.node.fund(payer.address, PRICE);
    return signedOnSolana(offered, payer, harness.node.url);
  };
  const claim = (order: Order, offered: Offered, authorization: string): Promise<Authorization> =>
    harness.ledger.authorize(order, offered, { callMs: 50_000, authorization });
  const held = async () => {
    const { order, offered, seller } = await quoted();
    expect(feePayerOf(offered)).toBe(first.feePayer);
    return { order, offered, seller, claim: asAuthorized(await claim(order, offered, await sign(offered))) };
  };
  const handIns = ({ handIns: each }: RemoteFacilitator): number => [...each.values()].reduce((sum, n) => sum + n, 0);
  const expectPaidOnce = async (payment: Authorized, seller: KeyPairSigner): Promise<void> => {
    await harness.ledger
      .settle(payment)
      .catch((error: unknown) => expect(error).toMatchObject({ reason: 'settlement_unknown' }));
    await eventually(async () => expect(await harness.ledger.stateOf(payment.paymentId)).toBe('completed'), {
      withinMs: 30_000,
    });
    expect(await harness.node.balanceOf(seller.address)).toBe(PRICE);
  };
  const onceAt = (operation: Asked['operation'], behave: Behaviour): void => {
    let isStruck = false;
    first.behaviour = (asked) => {
      if (isStruck || asked.operation !== operation) return false;
      isStruck = true;
      void behave(asked);
      return true;
    };
  };
  const answerWith =
    (status: number): Behaviour =>
    ({ response }) =>
      response.writeHead(status).end();

  it('works has every signature', async () => {
    const { claim: payment, seller } = await held();
    const earlier = handIns(second);
    await expectPaidOnce(payment, seller);
    expect(handIns(second)).toBe(earlier);
  });

  it.each([
    'break-before',
    'break-after',
    'hang-after',
    'reset-after',
    'nonsense-after',
    'nameless',
    'deny-after',
  ] as const)(
    'does %s: it is paid once, and the second never has the signature',
    async (fault) => {
      const { claim: payment, seller } = await held();
      const earlier = handIns(second);
      Object.assign(first, { fault, times: 1 });
      await expectPaidOnce(payment, seller);
      expect(handIns(second)).toBe(earlier);
    },
    60_000,
  );

  it.each([401, 429])(
    'turns a signature away (%i): it waits for the first, which alone can settle it',
    async (status) => {
      const { claim: payment, seller } = await held();
      const earlier = handIns(second);
      onceAt('settle', answerWith(status));
      await expectPaidOnce(payment, seller);
      expect(handIns(second)).toBe(earlier);
    },
    60_000,
  );

  it('does not answer: the next offers name the account of the second, and the same offer is signed anew for it', async () => {
    const { order, offered, seller } = await quoted();
    const authorization = await sign(offered);
    first.behaviour = (asked) => (answerWith(503)(asked), true);
    expect(await reasonOf(claim(order, offered, authorization))).toBe('dependency_unavailable');
    const again = await eventually(async () => {
      const repeated = await harness.ledger.quote(order, { originChainId: harness.node.network });
      expect([repeated.offer.payment_id, feePayerOf(repeated)]).toEqual([offered.offer.payment_id, second.feePayer]);
      return repeated;
    });
    expect(await feePayerAsked()).toBe(second.feePayer);
    const earlier = handIns(second);
    await expectPaidOnce(asAuthorized(await claim(order, again, await sign(again))), seller);
    expect(handIns(second)).toBe(earlier + 1);
  });

  it('goes away with a signature that it may have moved: the second has another only when that one is over', async () => {
    const { order, offered, seller, claim: payment } = await held();
    const earlier = handIns(second);
    first.behaviour = (asked) => (answerWith(503)(asked), true);
    expect(await reasonOf(harness.ledger.settle(payment, {}, BRIEFLY_MS))).toBe('settlement_unknown');
    // Whatever the buyer signs meanwhile is not taken.
    const other = await eventually(async () => {
      const repeated = await quoted();
      expect(feePayerOf(repeated.offered)).toBe(second.feePayer);
      return repeated;
    });
    expect(other.offered.offer.payment_id).not.toBe(offered.offer.payment_id);
    expect((await claim(order, offered, await sign(other.offered))).outcome).toBe('pending');
    expect([handIns(second), await harness.node.balanceOf(seller.address)]).toEqual([earlier, 0n]);
    await harness.ledger.db.inspect(
      "UPDATE payments_ledger.authorizations SET created_at = now() - interval '151 seconds' WHERE payment_id = $1",
      [payment.paymentId],
    );
    harness.node.mine(LIFE_OF_A_BLOCKHASH);
    await eventually(async () => expect(await harness.ledger.stateOf(payment.paymentId)).toBe('pending'), {
      withinMs: 20_000,
    });
    const again = await harness.ledger.quote(order, { originChainId: harness.node.network });
    expect(feePayerOf(again)).toBe(second.feePayer);
    await expectPaidOnce(asAuthorized(await claim(order, again, await sign(again))), seller);
    expect(handIns(second)).toBe(earlier + 1);
  }, 60_000);
});
