import { getBalance, paymentCompleted, paymentRefundDue } from '@market/contracts/payments-ledger';
import { eventually, withClient } from '@market/testing';
import { setTimeout as delay } from 'node:timers/promises';
import type { Hash } from 'viem';
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';
import { verifyJournal } from '../../src/journal/verify-journal.js';
import type { PaymentRail } from '../../src/rails/payment-rail.js';
import { SandboxRail } from '../../src/rails/sandbox/sandbox.rail.js';
import { Facilitator, onTheWire, type Settlement } from '../../src/rails/x402/facilitator.js';
import { SandboxFacilitator } from '../../src/rails/x402/sandbox-facilitator.js';
import {
  as,
  asAuthorized,
  digestOf,
  newOrder,
  reasonOf,
  startLedger,
  type Authorized,
  type LedgerHarness,
  type Offered,
  type Order,
} from '../support/ledger-harness.js';
import { payoutOf } from '../../../gateway/test/support/fake-wallets.js';
import { ledgerParts } from '../support/parts.js';
import { movedTo, signed as signedBy } from '../support/signed-payload.js';

let payer: PrivateKeyAccount;
beforeEach(() => {
  payer = privateKeyToAccount(generatePrivateKey());
});

const signed = (offered: Offered, changes?: Record<string, unknown>): Promise<string> =>
  signedBy(offered, payer, changes);

describe('a payment by signed authorization', () => {
  let harness: LedgerHarness;
  beforeAll(async () => {
    harness = await startLedger({ replicas: 2 });
  });
  afterAll(() => harness.stop());

  const claimWith = async (order: Order, offered: Offered, authorization: string) =>
    harness.authorize(order, offered, { authorization });
  const held = async (
    order = newOrder(),
  ): Promise<{ order: Order; offered: Offered; claim: Authorized; authorization: string }> => {
    const offered = await harness.quote(order);
    const authorization = await signed(offered);
    return { order, offered, claim: asAuthorized(await claimWith(order, offered, authorization)), authorization };
  };
  const transfersFor = async (paymentId: string): Promise<number> =>
    (await harness.db.inspect(`SELECT 1 FROM payments_ledger.sandbox_transfers WHERE payment_id = '${paymentId}'`))
      .length;

  it('is claimed without any money moved, and moves it when the answer is settled, once', async () => {
    const { order, offered, claim } = await held();
    expect(claim).toMatchObject({ transactionHash: null });
    expect(await transfersFor(claim.paymentId)).toBe(0);
    const settled = await harness.settle(claim);
    expect(settled.transfer).toEqual({
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
      network: 'eip155:84532',
      payer: payer.address.toLowerCase(),
      receipt: expect.stringMatching(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/) as string,
    });
    expect(await harness.settle(claim)).toEqual(settled);
    expect(await transfersFor(claim.paymentId)).toBe(1);
    expect(await harness.authorize(order, offered)).toEqual({
      outcome: 'completed',
      gatewayRequestId: claim.gatewayRequestId,
      transfer: settled.transfer,
    });
    expect(
      (await harness.received(paymentCompleted)).filter(({ paymentId }) => paymentId === claim.paymentId),
    ).toMatchObject([{ transactionHash: settled.transfer!.transaction }]);
  });

  it('may be collected before its call has ended, and is then charged or owed back', async () => {
    const [{ order, offered, claim }, other] = [await held(), await held()];
    const { transfer } = await harness.collect(claim);
    expect(transfer).toEqual({
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
      network: 'eip155:84532',
      payer: payer.address.toLowerCase(),
    });
    // What has arrived is collected, and pays for another attempt.
    expect(await harness.collect(claim)).toEqual({ transfer: null });
    expect(asAuthorized(await harness.authorize(order, offered))).toMatchObject({
      transactionHash: transfer!.transaction,
    });
    expect(await harness.settle(claim)).toMatchObject({ transfer });
    expect([await harness.stateOf(claim.paymentId), await transfersFor(claim.paymentId)]).toEqual(['completed', 1]);
    expect(await reasonOf(harness.collect(claim))).toBe('not_payable');
    expect(await harness.release(claim, { isOver: true })).toEqual({});
    expect(await harness.stateOf(claim.paymentId)).toBe('completed');

    await harness.collect(other.claim);
    for (let repeat = 0; repeat < 2; repeat += 1)
      expect(await harness.release(other.claim, { isOver: true })).toEqual({ isOwedBack: true });
    expect(await harness.stateOf(other.claim.paymentId)).toBe('refund_due');
    expect(await reasonOf(harness.settle(other.claim))).toBe('not_payable');
    const owed = (await harness.received(paymentRefundDue)).filter(
      ({ paymentId }) => paymentId === other.claim.paymentId,
    );
    expect(owed).toMatchObject([{ reason: 'not_delivered', amountMicros: '250000' }]);
  });

  it('lapses with a call that is over if it was not collected, and owes nothing back', async () => {
    const { claim } = await held();
    expect(await harness.release(claim, { isOver: true })).toEqual({ isFree: true });
    expect([await harness.stateOf(claim.paymentId), await transfersFor(claim.paymentId)]).toEqual(['cancelled', 0]);
  });

  it('is signed for anew only from books that are as they were recorded', async () => {
    const { claim } = await held();
    const settled = await harness.settle(claim);
    const rewrite = (address: string) =>
      harness.db.inspect('UPDATE payments_ledger.authorizations SET payer = $1 WHERE payment_id = $2', [
        address,
        claim.paymentId,
      ]);
    await rewrite(`0x${'00'.repeat(20)}`);
    expect(await harness.settle(claim)).toEqual({ ...settled, transfer: null });
    expect((await verifyJournal(harness.db.database)).problems.map(({ detail }) => detail)).toEqual([
      expect.stringMatching(/: authorizations\.payer$/),
    ]);
    await rewrite(payer.address.toLowerCase());
    expect(await harness.settle(claim)).toEqual(settled);
  });

  it('is held once by 32 who hand it in together, over two processes', async () => {
    const order = newOrder();
    const offered = await harness.quote(order);
    const authorization = await signed(offered);
    const claims = await Promise.all(Array.from({ length: 32 }, () => claimWith(order, offered, authorization)));
    expect(claims.map(({ outcome }) => outcome)).toEqual(claims.map(() => 'authorized'));
    const rows = await harness.db.inspect('SELECT 1 FROM payments_ledger.authorizations WHERE payment_id = $1', [
      offered.offer.payment_id,
    ]);
    expect(rows).toHaveLength(1);
  });

  it('settles once for 32 who settle together, and those who come meanwhile are told to come again', async () => {
    const { claim } = await held();
    const outcomes = await Promise.allSettled(Array.from({ length: 32 }, () => harness.settle(claim)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThanOrEqual(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ reason: 'settlement_unknown' });
    expect(await transfersFor(claim.paymentId)).toBe(1);
    expect(await harness.stateOf(claim.paymentId)).toBe('completed');
  });

  it('stays good for another try of a call that was not delivered, and costs nothing when none succeeds', async () => {
    const { order, offered, claim } = await held();
    await harness.release(claim);
    const second = asAuthorized(await harness.authorize(order, offered));
    await harness.release(second);
    await harness.db.inspect(
      `UPDATE payments_ledger.payments SET retry_until = now() - interval '1 second' WHERE id = '${claim.paymentId}'`,
    );
    await ledgerParts(harness.db.database).expirePayments.run();
    expect(await harness.stateOf(claim.paymentId)).toBe('cancelled');
    expect(await harness.authorize(order, offered)).toEqual({ outcome: 'not_payable', reason: 'cancelled' });
    expect(await transfersFor(claim.paymentId)).toBe(0);
    expect((await harness.quote(order)).offer.relay_request_id).not.toBe(offered.offer.relay_request_id);
  });

  it('is not held for an offer that a transfer on its way is about to pay', async () => {
    const order = newOrder();
    const offered = await harness.quote(order);
    await harness.pay(order, offered, 'pending');
    expect(await claimWith(order, offered, await signed(offered))).toMatchObject({
      outcome: 'pending',
      reason: 'payment_not_final',
    });
    await harness.db.inspect(
      `UPDATE payments_ledger.sandbox_transfers SET final_at = now() WHERE payment_id = '${offered.offer.payment_id}'`,
    );
    await harness.settle(asAuthorized(await harness.authorize(order, offered)));
    expect(await transfersFor(offered.offer.payment_id)).toBe(1);
  });

  it('pays an offer or a transfer does, never both, when they come at once', async () => {
    for (let n = 0; n < 20; n++) {
      const order = newOrder();
      const offered = await harness.quote(order);
      const authorization = await signed(offered);
      const [claim] = await Promise.all([
        claimWith(order, offered, authorization),
        harness.pay(order, offered, 'pending'),
      ]);
      if (claim.outcome === 'authorized') await harness.settle(claim);
      expect(await transfersFor(offered.offer.payment_id)).toBe(1);
    }
  });

  it('is good for another try only while it can still be settled after it', async () => {
    const { claim, authorization } = await held();
    const { validBefore } = (JSON.parse(authorization) as { payload: { authorization: { validBefore: string } } })
      .payload.authorization;
    expect(new Date(claim.retryUntil).getTime()).toBe(Number(validBefore) * 1000 - 60_000);
  });

  it('gives way to money that came by transfer', async () => {
    const order = newOrder();
    const offered = await harness.quote(order);
    const authorization = await signed(offered);
    await harness.pay(order, offered);
    const claim = asAuthorized(await claimWith(order, offered, authorization));
    expect(claim.transactionHash).not.toBeNull();
    expect((await harness.settle(claim)).transfer).toBeNull();
    expect(await transfersFor(claim.paymentId)).toBe(1);
  });

  it.each<[string, (offered: Offered) => Promise<string>, string | RegExp]>([
    ['is no JSON', () => Promise.resolve('{'), 'invalid_payload'],
    [
      'is of version 1',
      async (offered) => JSON.stringify({ ...(JSON.parse(await signed(offered)) as object), x402Version: 1 }),
      'invalid_payload',
    ],
    ['pays less', (offered) => signed(offered, { amount: '1' }), 'accepted_mismatch'],
    ['pays another address', (offered) => signed(offered, { payTo: payer.address }), 'accepted_mismatch'],
    [
      'pays with another token',
      (offered) => signed(offered, { asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' }),
      'accepted_mismatch',
    ],
    ['pays on another chain', (offered) => signed(offered, { network: 'eip155:8453' }), 'invalid_network'],
    [
      'would run out before the seller has answered',
      (offered) => signed(offered, { maxTimeoutSeconds: 30 }),
      'accepted_mismatch',
    ],
  ])('is refused where it %s, and the offer stands', async (_what, make, reason) => {
    const order = newOrder();
    const offered = await harness.quote(order);
    expect(await claimWith(order, offered, await make(offered))).toEqual({
      outcome: 'rejected',
      reason,
      offer: offered.offer,
    });
    asAuthorized(await claimWith(order, offered, await signed(offered)));
  });

  it('pays no other offer with the terms that it names', async () => {
    const authorization = await signed(await harness.quote(newOrder()));
    const order = newOrder();
    expect(await claimWith(order, await harness.quote(order), authorization)).toMatchObject({
      outcome: 'rejected',
      reason: 'accepted_mismatch',
    });
  });

  it('pays one payment, ever: of 100 offers of its seller that it is handed in for at once, and of those after them', async () => {
    const { sellerId } = newOrder().listing;
    const orders = Array.from({ length: 100 }, () => newOrder()).map((order) => ({
      ...order,
      listing: { ...order.listing, sellerId },
    }));
    const offers = await Promise.all(orders.map((order) => harness.quote(order)));
    const authorization = await signed(offers[0]!);
    const handIn = (n: number) => claimWith(orders[n]!, offers[n]!, movedTo(offers[n]!, authorization));
    const claims = await Promise.all(orders.map((_, n) => handIn(n)));
    const winner = claims.findIndex(({ outcome }) => outcome === 'authorized');
    const used = { outcome: 'rejected', reason: 'invalid_exact_evm_nonce_already_used' };
    expect(claims.filter((_, n) => n !== winner)).toEqual(
      Array.from({ length: 99 }, () => expect.objectContaining(used) as unknown),
    );
    // The authorization stays bound to its call after a release, after a lapse and after a refusal.
    const [claim, other] = [asAuthorized(claims[winner]!), winner === 0 ? 1 : 0];
    await harness.release(claim);
    expect(await handIn(other)).toMatchObject(used);
    await harness.db.inspect(
      `UPDATE payments_ledger.payments SET retry_until = now() - interval '1 second' WHERE id = '${claim.paymentId}'`,
    );
    await ledgerParts(harness.db.database).expirePayments.run();
    expect(await harness.stateOf(claim.paymentId)).toBe('cancelled');
    expect(await handIn(other)).toMatchObject(used);
    expect(await transfersFor(claim.paymentId)).toBe(0);
  });

  it('pays no offer of another seller, whose wallet it does not name', async () => {
    const [order, other] = [newOrder(), newOrder()];
    const [offered, elsewhere] = [await harness.quote(order), await harness.quote(other)];
    expect([offered, elsewhere].map(({ offer }) => offer.x402[0]!.payTo)).toEqual(
      [order, other].map(({ listing }) => payoutOf(listing.sellerId)),
    );
    expect(await claimWith(other, elsewhere, movedTo(elsewhere, await signed(offered)))).toMatchObject({
      outcome: 'rejected',
      reason: 'invalid_exact_evm_payload_recipient_mismatch',
    });
  });

  it('pays the wallet that its seller had when the offer was made, and the next offer the one it has then', async () => {
    const order = newOrder();
    const { sellerId } = order.listing;
    const offered = await harness.quote(order);
    const wallet = privateKeyToAccount(generatePrivateKey()).address;
    harness.wallets!.set(sellerId, wallet);
    expect((await harness.quote(order)).offer).toEqual(offered.offer);
    asAuthorized(await claimWith(order, offered, await signed(offered)));
    await eventually(async () =>
      expect((await harness.quote({ ...newOrder(), listing: order.listing })).offer.x402[0]!.payTo).toBe(wallet),
    );
  });

  it('pays nobody where its seller has no wallet for it, so that the sandbox works for everybody', async () => {
    const order = newOrder();
    harness.wallets!.set(order.listing.sellerId, null);
    const offered = await harness.quote(order);
    expect(offered.offer.x402[0]!.payTo).toBe('0x5A4dB0c500000000000000000000000000000402');
    await harness.settle(asAuthorized(await claimWith(order, offered, await signed(offered))));
  });

  it("opens nothing to a stranger who has seen it: the offer is the buyer's", async () => {
    const order = newOrder();
    const offered = await harness.quote(order);
    expect(await reasonOf(claimWith({ ...order, buyer: newOrder().buyer }, offered, await signed(offered)))).toBe(
      'payment_not_found',
    );
  });
});

/** A facilitator that follows a script of outcomes, before or after the money has moved. */
class Scripted extends Facilitator {
  readonly id = 'sandbox';
  calls = 0;
  readonly seen: unknown[] = [];
  script: ('move' | 'move-and-break' | 'break' | 'refuse' | 'refuse-late')[] = [];
  /** Whether the payer holds too little since a refusal, which `verify` says too. */
  private isPoor = false;
  /** A late refusal waits for this promise. */
  late: Promise<unknown> = Promise.resolve();
  constructor(private readonly sandbox: SandboxFacilitator) {
    super();
  }
  verify(...args: Parameters<Facilitator['verify']>) {
    this.seen.push(onTheWire(args[0], args[1]));
    return Promise.resolve(
      this.isPoor ? ({ valid: false, reason: 'insufficient_funds' } as const) : ({ valid: true } as const),
    );
  }
  settlementOf(...args: Parameters<SandboxFacilitator['settlementOf']>): Promise<Settlement | null> {
    return this.sandbox.settlementOf(...args);
  }
  async settle(...args: Parameters<Facilitator['settle']>): Promise<Settlement> {
    this.calls += 1;
    this.seen.push(onTheWire(args[0], args[1]));
    const step = this.script.shift() ?? 'move';
    this.isPoor = step === 'refuse';
    if (step === 'refuse-late') await this.late;
    if (step.startsWith('refuse')) return { settled: false, reason: 'insufficient_funds' };
    if (step === 'break') throw new Error('502');
    const settled = await this.sandbox.settle(args[0], args[1]);
    if (step === 'move-and-break') throw new Error('connection reset');
    return settled;
  }
}

describe('a facilitator that fails', () => {
  let harness: LedgerHarness;
  let scripted: Scripted;
  let parts: ReturnType<typeof ledgerParts>;
  beforeAll(async () => {
    harness = await startLedger();
    const { database } = harness.db;
    scripted = new Scripted(new SandboxFacilitator(database));
    const rail: PaymentRail = Object.assign(
      Object.create(new SandboxRail(database, scripted as never, null, 1_000n)) as SandboxRail,
      {},
    );
    parts = ledgerParts(database, [rail]);
  });
  afterAll(() => harness.stop());

  const settleWith = (...script: Scripted['script']) => settleIn(inAHurry, ...script);
  const settleIn = async (contextOf: (order: Order) => ReturnType<typeof as>, ...script: Scripted['script']) => {
    const order = newOrder();
    const offered = await harness.quote(order);
    const claim = asAuthorized(await harness.authorize(order, offered, { authorization: await signed(offered) }));
    scripted.script = script;
    const input = {
      paymentId: claim.paymentId,
      gatewayRequestId: claim.gatewayRequestId,
      sellerStatusCode: 200,
      latencyMs: 5,
      requestDigest: digestOf('request'),
      responseDigest: digestOf('response'),
    };
    return { order, offered, claim, settled: parts.settleAuthorization.execute(input, contextOf(order)) };
  };
  /** The context of a request whose time is over before the authorization is handed in a second time. */
  const inAHurry = ({ buyer }: Order) => as(buyer, { deadlineAt: Date.now() + 1_400 });
  const patient = ({ buyer }: Order) => as(buyer);
  /** Simulates that the lease of the first process has expired. */
  const resume = async (): Promise<void> => {
    await harness.db.inspect(
      `UPDATE payments_ledger.authorizations SET settling_until = now() - interval '1 hour' WHERE state = 'settling'`,
    );
    await parts.settleAuthorization.run();
  };
  const transfers = async (paymentId: string) =>
    harness.db.inspect<{ transaction_hash: Hash }>(
      `SELECT transaction_hash FROM payments_ledger.sandbox_transfers WHERE payment_id = '${paymentId}'`,
    );

  it('to answer after it moved the money charges once, as soon as the chain shows it', async () => {
    const { order, offered, claim, settled } = await settleWith('move-and-break');
    const { transfer } = await settled;
    expect(await harness.stateOf(claim.paymentId)).toBe('completed');
    expect(await transfers(claim.paymentId)).toEqual([{ transaction_hash: transfer!.transaction }]);
    expect(await harness.authorize(order, offered)).toMatchObject({ outcome: 'completed' });
  });

  it('to move the money before the call has ended is told so, and the outcome that it does not know becomes known', async () => {
    const collected = async (...script: Scripted['script']) => {
      const order = newOrder();
      const offered = await harness.quote(order);
      const claim = asAuthorized(await harness.authorize(order, offered, { authorization: await signed(offered) }));
      scripted.script = script;
      const outcome = await reasonOf(parts.collectPayment.execute({ paymentId: claim.paymentId }, inAHurry(order)));
      return { order, offered, claim, outcome };
    };
    const refused = await collected('refuse');
    expect([refused.outcome, await harness.stateOf(refused.claim.paymentId)]).toEqual([
      'settlement_refused',
      'pending',
    ]);
    expect(await transfers(refused.claim.paymentId)).toEqual([]);

    // The refused one settles first from now on.
    payer = privateKeyToAccount(generatePrivateKey());
    const unknown = await collected('break', 'break', 'break', 'break');
    expect([unknown.outcome, await harness.stateOf(unknown.claim.paymentId)]).toEqual([
      'settlement_unknown',
      'indeterminate',
    ]);
    await eventually(async () => {
      await resume();
      expect(await harness.stateOf(unknown.claim.paymentId)).toBe('verified');
    });
    expect(await transfers(unknown.claim.paymentId)).toHaveLength(1);
    expect(await harness.settle(unknown.claim)).toMatchObject({ transfer: { payer: payer.address.toLowerCase() } });
  });

  it('is asked by one process as long as that lives, and by another within three seconds of its death', async () => {
    const living = ledgerParts(harness.db.database, [
      Object.assign(
        Object.create(new SandboxRail(harness.db.database, scripted as never, null, 1_000n)) as SandboxRail,
        {},
      ),
    ]);
    living.settleAuthorization.onApplicationBootstrap();
    const attempts = async (paymentId: string) =>
      (
        await harness.db.inspect<{ attempts: number }>(
          'SELECT attempts FROM payments_ledger.authorizations WHERE payment_id = $1',
          [paymentId],
        )
      )[0]!.attempts;
    let answer = (): void => undefined;
    scripted.late = new Promise<void>((resolve) => (answer = resolve));
    const order = newOrder();
    const offered = await harness.quote(order);
    const claim = asAuthorized(await harness.authorize(order, offered, { authorization: await signed(offered) }));
    scripted.script = ['refuse-late'];
    const input = {
      paymentId: claim.paymentId,
      gatewayRequestId: claim.gatewayRequestId,
      sellerStatusCode: 200,
      latencyMs: 5,
      requestDigest: digestOf('request'),
      responseDigest: digestOf('response'),
    };
    const slow = living.settleAuthorization.execute(input, as(order.buyer));
    await delay(3_500);
    await parts.settleAuthorization.run();
    expect(await attempts(claim.paymentId)).toBe(1);
    // A process that died renews no lease.
    await living.jobs.stop();
    await eventually(async () => {
      await parts.settleAuthorization.run();
      expect(await harness.stateOf(claim.paymentId)).toBe('completed');
    });
    answer();
    // The chain shows what the other process has settled, so this one answers with it.
    expect(await slow).toMatchObject({ paymentId: claim.paymentId, transfer: {} });
    expect([await attempts(claim.paymentId), await harness.stateOf(claim.paymentId)]).toEqual([2, 'completed']);
  });

  it('is given the same to settle as it was given to verify, to the byte', async () => {
    const order = newOrder();
    const offered = await harness.quote(order);
    const plain = JSON.parse(await signed(offered)) as object;
    const authorization = JSON.stringify({
      zoo: 1e400,
      ...plain,
      note: '\ud83e\udd80\u0001',
      a: [1, { z: 1, a: 2 }],
    }).replace('"zoo":null', '"zoo":1e400,"10":1.0,"2":1');
    const claim = asAuthorized(
      await parts.authorizePayment.execute(
        {
          relayRequestId: offered.offer.relay_request_id,
          listingId: order.listing.listingId,
          bodyDigest: order.bodyDigest,
          callMs: 60_000,
          authorization,
        },
        as(order.buyer),
      ),
    );
    scripted.script = ['break'];
    await reasonOf(
      parts.settleAuthorization.execute(
        {
          paymentId: claim.paymentId,
          gatewayRequestId: claim.gatewayRequestId,
          sellerStatusCode: 200,
          latencyMs: 5,
          requestDigest: digestOf('request'),
          responseDigest: digestOf('response'),
        },
        inAHurry(order),
      ),
    );
    await resume();
    expect(await harness.stateOf(claim.paymentId)).toBe('completed');
    const texts = scripted.seen.slice(-3).map((given) => JSON.stringify(given));
    expect(texts).toEqual([texts[0], texts[0], texts[0]]);
    expect(JSON.parse(texts[0]!)).toMatchObject([{ ...plain, a: [1, { z: 1, a: 2 }] }, offered.offer.x402[0]]);
  });

  it('is asked again while a request waits', async () => {
    const order = newOrder();
    const offered = await harness.quote(order);
    const claim = asAuthorized(await harness.authorize(order, offered, { authorization: await signed(offered) }));
    scripted.script = ['break', 'break', 'move'];
    const calls = scripted.calls;
    const input = {
      paymentId: claim.paymentId,
      gatewayRequestId: claim.gatewayRequestId,
      sellerStatusCode: 200,
      latencyMs: 5,
      requestDigest: digestOf('request'),
      responseDigest: digestOf('response'),
    };
    expect((await parts.settleAuthorization.execute(input, as(order.buyer))).transfer).not.toBeNull();
    expect(scripted.calls - calls).toBe(3);
  });

  it('before it moved the money leaves the outcome unknown, never a new offer, until it is asked again', async () => {
    const { order, offered, claim, settled } = await settleWith('break', 'break', 'move');
    expect(await reasonOf(settled)).toBe('settlement_unknown');
    expect(await harness.stateOf(claim.paymentId)).toBe('indeterminate');
    expect(await harness.authorize(order, offered)).toMatchObject({ outcome: 'pending', reason: 'settlement_unknown' });
    expect((await harness.quote(order)).offer.relay_request_id).toBe(offered.offer.relay_request_id);
    await resume();
    expect(await harness.stateOf(claim.paymentId)).toBe('indeterminate');
    await resume();
    expect(await harness.stateOf(claim.paymentId)).toBe('completed');
    expect(await transfers(claim.paymentId)).toHaveLength(1);
  });

  it('leaves the answer to its buyer, whatever jobs ask meanwhile, and is paid by no second signature until then', async () => {
    const { order, offered, claim, settled } = await settleWith('break', 'move');
    expect(await reasonOf(settled)).toBe('settlement_unknown');
    await resume();
    expect(await harness.stateOf(claim.paymentId)).toBe('completed');
    const nextOffer = async () => (await harness.quote(order)).offer.relay_request_id;
    expect(await harness.authorize(order, offered, { isResumed: true })).toMatchObject({ outcome: 'completed' });
    expect(await nextOffer()).toBe(offered.offer.relay_request_id);
    expect(await harness.authorize(order, offered)).toMatchObject({ outcome: 'completed' });
    expect(await nextOffer()).not.toBe(offered.offer.relay_request_id);
  });

  it('is answered to the request that waits, even if recording it takes longer than the request would wait', async () => {
    const { paymentId, answer } = await withClient(harness.db.url, async (client) => {
      await client.query('BEGIN');
      await client.query('LOCK TABLE payments_ledger.journal_transactions');
      const { claim, settled } = await settleWith('move');
      const answer = settled.then(({ transfer }) => transfer?.transaction);
      // The request would wait for 400 ms.
      await Promise.race([delay(1_500), answer]);
      await client.query('COMMIT');
      return { paymentId: claim.paymentId, answer };
    });
    expect(await answer).toBe((await transfers(paymentId))[0]!.transaction_hash);
    expect(await harness.stateOf(paymentId)).toBe('completed');
  });

  it('to settle for good charges nothing, and the offer can be paid again', async () => {
    const { order, offered, claim, settled } = await settleWith('refuse');
    expect(await reasonOf(settled)).toBe('settlement_refused');
    expect(await harness.stateOf(claim.paymentId)).toBe('pending');
    expect(await harness.authorize(order, offered)).toEqual({ outcome: 'unpaid', offer: offered.offer });
    const again = asAuthorized(await harness.authorize(order, offered, { authorization: await signed(offered) }));
    expect((await harness.settle(again)).transfer).not.toBeNull();
    expect(await transfers(claim.paymentId)).toHaveLength(1);
  });

  it('is not believed when it refuses what it may have sent before', async () => {
    const { claim, settled } = await settleWith('break', 'refuse', 'move-and-break');
    expect(await reasonOf(settled)).toBe('settlement_unknown');
    await resume();
    expect(await harness.stateOf(claim.paymentId)).toBe('indeterminate');
    await resume();
    expect(await harness.stateOf(claim.paymentId)).toBe('completed');
    expect(await transfers(claim.paymentId)).toHaveLength(1);
  });

  it.each([
    ['settled', patient, 'move', 'completed', 'answered'],
    ['left open', inAHurry, 'break', 'indeterminate', 'settlement_unknown'],
  ] as const)(
    'by refusing late what another process has %s meanwhile changes nothing',
    async (_what, contextOf, meanwhile, state, told) => {
      let refuse: (value?: unknown) => void = () => undefined;
      scripted.late = new Promise((resolve) => (refuse = resolve));
      const { claim, settled } = await settleIn(contextOf, 'refuse-late', meanwhile, 'move');
      const outcome = settled.then(
        () => 'answered',
        ({ reason }: { reason: string }) => reason,
      );
      await eventually(async () => expect(await harness.stateOf(claim.paymentId)).toBe('indeterminate'));
      await resume();
      expect(await harness.stateOf(claim.paymentId)).toBe(state);
      refuse();
      expect(await outcome).toBe(told);
      expect(await harness.stateOf(claim.paymentId)).toBe(state);
      await resume();
      expect(
        await harness.db.inspect('SELECT state FROM payments_ledger.authorizations WHERE payment_id = $1', [
          claim.paymentId,
        ]),
      ).toEqual([{ state: 'settled' }]);
      expect(await transfers(claim.paymentId)).toHaveLength(1);
    },
  );

  it('for want of money makes the payer pay before the next call, which is owed back as any paid one if not delivered', async () => {
    const { settled } = await settleWith('refuse');
    expect(await reasonOf(settled)).toBe('settlement_refused');
    const next = async (): Promise<Authorized> => {
      const order = newOrder();
      const offered = await harness.quote(order);
      return asAuthorized(await harness.authorize(order, offered, { authorization: await signed(offered) }));
    };
    const paid = await next();
    expect(await transfers(paid.paymentId)).toEqual([{ transaction_hash: paid.transactionHash }]);
    expect((await next()).transactionHash).toBeNull();
    await harness.release(paid);
    await harness.db.inspect(
      "UPDATE payments_ledger.payments SET retry_until = now() - interval '1 second' WHERE id = $1",
      [paid.paymentId],
    );
    await parts.expirePayments.run();
    expect(await harness.stateOf(paid.paymentId)).toBe('refund_due');
    expect(
      (await harness.received(paymentRefundDue)).filter(({ paymentId }) => paymentId === paid.paymentId),
    ).toMatchObject([{ reason: 'not_delivered', amountMicros: '250000' }]);
    // The seller received the money in its own wallet.
    const { seller_id: sellerId } = (
      await harness.db.inspect<{ seller_id: string }>('SELECT seller_id FROM payments_ledger.payments WHERE id = $1', [
        paid.paymentId,
      ])
    )[0]!;
    expect((await harness.edge.request(getBalance, {}, as(sellerId))).refunds).toEqual({
      due_to_account: { micros: '0', usd: 0 },
      due_by_account: { micros: '250000', usd: 0.25 },
    });
  });

  it('for so long that nothing can come of it any more charges nothing', async () => {
    const { claim, settled } = await settleWith('break', 'refuse');
    expect(await reasonOf(settled)).toBe('settlement_unknown');
    await harness.db.inspect(
      `UPDATE payments_ledger.authorizations SET valid_before = now() - interval '1 hour' WHERE state = 'settling'`,
    );
    await resume();
    expect(await harness.stateOf(claim.paymentId)).toBe('pending');
    expect(await transfers(claim.paymentId)).toHaveLength(0);
  });
});
