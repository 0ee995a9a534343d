import { getBalance, getReceiptProof, listReceipts } from '@market/contracts/payments-ledger';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { payoutOf } from '../../../gateway/test/support/fake-wallets.js';
import { SandboxRail } from '../../src/rails/sandbox/sandbox.rail.js';
import { SandboxFacilitator } from '../../src/rails/x402/sandbox-facilitator.js';
import { as, budgetWith, reasonOf, startLedger, type LedgerHarness, type Offered } from '../support/ledger-harness.js';
import { ledgerParts } from '../support/parts.js';
import { signed } from '../support/signed-payload.js';
import { offered, subscriberOf, type SubscriptionOffer } from '../support/subscriber.js';

const account = privateKeyToAccount(generatePrivateKey());

describe('a subscription that a signature pays', () => {
  let harness: LedgerHarness;
  beforeAll(async () => {
    harness = await startLedger({ replicas: 2 });
  });
  afterAll(() => harness.stop());

  const asked = async () => {
    const [listing, ada] = [offered(harness), subscriberOf(harness)];
    const offer = await ada.offerOf(listing);
    return { listing, ada, offer };
  };
  const payloadOf = async (offer: SubscriptionOffer, changes?: Record<string, unknown>) => ({
    payload: JSON.parse(await signed({ offer } as unknown as Offered, account, changes)) as Record<string, unknown>,
  });
  const transfersOf = ({ payment_id }: SubscriptionOffer) =>
    harness.db.inspect('SELECT 1 FROM payments_ledger.sandbox_transfers WHERE payment_id = $1', [payment_id]);

  it('starts in one go, once, however often and by however many processes it is sent', async () => {
    const { listing, ada, offer } = await asked();
    const proof = await payloadOf(offer);
    const answers = await Promise.all(Array.from({ length: 16 }, () => ada.verify(offer, proof)));
    for (const answer of answers)
      expect(answer).toMatchObject(
        answer.outcome === 'pending' ? { reason: 'settlement_unknown' } : { outcome: 'completed' },
      );
    const done = await ada.verify(offer, { ...proof, scheme: 'exact' });
    expect(done).toMatchObject({
      outcome: 'completed',
      subscription: { status: 'active' },
      transfer: {
        network: 'eip155:84532',
        payer: account.address.toLowerCase(),
        receipt: expect.any(String) as string,
      },
    });
    // The relay request id alone identifies the payment too.
    expect(JSON.stringify(await ada.verify(offer))).toBe(JSON.stringify(done));
    expect([(await ada.list()).total, (await transfersOf(offer)).length]).toEqual([1, 1]);
    const [receipt] = (await harness.edge.request(listReceipts, { page: 1, limit: 20 }, as(ada.id))).items;
    expect(await harness.edge.request(getReceiptProof, { receiptId: receipt!.id }, as(ada.id))).toHaveProperty('jws');
    expect(await harness.edge.request(getBalance, {}, as(listing.sellerId))).toMatchObject({
      received: [{ wallet: payoutOf(listing.sellerId), amount: { micros: '9990000' } }],
      fees: { due: { micros: '499500' } },
    });
    expect(await reasonOf(ada.createPayment(listing))).toBe('already_subscribed');
  });

  it.each([
    ['nonsense', async () => ({ payload: { payload: { signature: '0x' } } }), 'invalid_payload'],
    ['for another amount', (offer: SubscriptionOffer) => payloadOf(offer, { amount: '1' }), 'accepted_mismatch'],
    [
      "for another's offer",
      async () => payloadOf(await subscriberOf(harness).offerOf(offered(harness))),
      'accepted_mismatch',
    ],
  ])('is not paid by %s, and can be paid afterwards', async (_what, forge, rejection) => {
    const { ada, offer } = await asked();
    await expect(ada.verify(offer, await forge(offer))).rejects.toMatchObject({
      reason: 'payment_rejected',
      details: { rejection },
    });
    expect([await harness.stateOf(offer.payment_id), await transfersOf(offer)]).toEqual(['pending', []]);
    expect(await ada.verify(offer, await payloadOf(offer))).toMatchObject({ outcome: 'completed' });
  });

  it('is not paid a second time while a transfer is on its way', async () => {
    const { ada, offer } = await asked();
    await ada.pay(offer, 'pending');
    expect(await ada.verify(offer, await payloadOf(offer))).toMatchObject({
      outcome: 'pending',
      reason: 'payment_not_final',
    });
    expect(await transfersOf(offer)).toHaveLength(1);
  });

  it('moves nothing where it cannot start: not offered, there already, beyond the budget', async () => {
    const { listing, ada, offer } = await asked();
    const proof = await payloadOf(offer);
    harness.catalog.offer({ ...listing, status: 'suspended' });
    expect(await reasonOf(ada.verify(offer, proof))).toBe('listing_unavailable');
    harness.catalog.offer(listing);
    const budgets = [budgetWith({ perCallMicros: '9989999' })];
    const { payment_id, requirements } = offer;
    const relay_request_id = requirements.relayRequestId;
    const poor = ledgerParts(harness.db.database).verifyPayment(harness.gateway);
    expect(await reasonOf(poor.execute({ payment_id, relay_request_id, ...proof }, as(ada.id, { budgets })))).toBe(
      'budget_exceeded',
    );
    const other = await ada.offerOf(listing, { origin_currency: 'SOL' });
    await ada.pay(other);
    await ada.verify(other);
    expect(await reasonOf(ada.verify(offer, proof))).toBe('already_subscribed');
    expect([await harness.stateOf(offer.payment_id), await transfersOf(offer)]).toEqual(['pending', []]);
  });

  it.each(['held', 'before', 'after'] as const)(
    'is charged once and starts where the process dies when it is %s, or the money has moved',
    async (when) => {
      const { ada, offer } = await asked();
      const sandbox = new SandboxFacilitator(harness.db.database);
      let isDead = true;
      const die = () => Promise.reject(new Error('killed'));
      const dying = Object.assign(Object.create(sandbox) as SandboxFacilitator, {
        async settle(...args: Parameters<SandboxFacilitator['settle']>) {
          if (isDead && when === 'before') return die();
          const settled = await sandbox.settle(...args);
          return isDead ? die() : settled;
        },
        settlementOf: (...args: Parameters<SandboxFacilitator['settlementOf']>) =>
          isDead ? die() : sandbox.settlementOf(...args),
      });
      const parts = ledgerParts(harness.db.database, [new SandboxRail(harness.db.database, dying, null, 1_000n)]);
      const verify = parts.verifyPayment(harness.gateway);
      const { payload } = await payloadOf(offer);
      const input = { payment_id: offer.payment_id, payload };
      if (when === 'held') {
        parts.settleAuthorization.beginFirst = die;
        await expect(verify.execute(input, as(ada.id))).rejects.toThrow('killed');
        expect(await harness.stateOf(offer.payment_id)).toBe('verified');
        isDead = false;
        // No signature is needed, because it is held already.
        expect(await ada.verify(offer)).toMatchObject({ outcome: 'completed' });
      } else {
        expect(await verify.execute(input, as(ada.id))).toMatchObject({ reason: 'settlement_unknown' });
        isDead = false;
        await harness.db.inspect(
          "UPDATE payments_ledger.authorizations SET settling_until = now() - interval '1 hour' WHERE state = 'settling'",
        );
        await parts.settleAuthorization.run();
        expect(await harness.stateOf(offer.payment_id)).toBe('completed');
      }
      expect([(await ada.list()).total, (await transfersOf(offer)).length]).toEqual([1, 1]);
    },
  );
});
