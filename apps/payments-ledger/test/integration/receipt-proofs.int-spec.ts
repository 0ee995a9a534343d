import { getReceiptProof, listReceipts, listSigningKeys } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { randomBytes } from 'node:crypto';
import { as, digestOf, newOrder, reasonOf, startLedger, type LedgerHarness } from '../support/ledger-harness.js';
import { offered, subscriberOf } from '../support/subscriber.js';

describe('the proof of a receipt', () => {
  let harness: LedgerHarness;
  beforeAll(async () => {
    const keys = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64')).join(',');
    harness = await startLedger({ env: { PUBLIC_URL: 'https://market.test/', PAYMENTS_LEDGER_SIGNING_KEYS: keys } });
  });
  afterAll(() => harness.stop());

  const receiptsOf = async (who: string) =>
    (await harness.edge.request(listReceipts, { page: 1, limit: 20 }, as(who))).items;
  const proofOf = (receiptId: string, who: string) => harness.edge.request(getReceiptProof, { receiptId }, as(who));
  const keySet = async () => createLocalJWKSet(await harness.edge.request(listSigningKeys, {}, as(newId())));

  it('signs what was bought of whom, for how much, and what was exchanged', async () => {
    const order = newOrder();
    const claim = await harness.authorized(order);
    await harness.settle(claim);
    const [receipt] = await receiptsOf(order.buyer);
    const { jws, claims } = await proofOf(receipt!.id, order.buyer);
    const { id, created_at, ...shown } = receipt!;
    expect(claims).toEqual({
      iss: 'https://market.test',
      iat: Math.floor(Date.parse(created_at) / 1000),
      receipt_id: id,
      ...shown,
      buyer_id: order.buyer,
      seller_id: order.listing.sellerId,
      network: 'eip155:84532',
      relay_request_id: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      gateway_request_id: claim.gatewayRequestId,
      request_digest: digestOf('request'),
      response_digest: digestOf('response'),
      seller_status_code: 200,
    });
    const { payload } = await jwtVerify(jws, await keySet(), { issuer: 'https://market.test', typ: 'receipt+jwt' });
    expect(payload).toEqual(claims);
    expect(await proofOf(id, order.buyer)).toEqual({ jws, claims });
  });

  it("signs a subscription's receipts too, one a side", async () => {
    const [listing, ada] = [offered(harness), subscriberOf(harness)];
    await ada.buy(listing);
    const [bought, sold] = [(await receiptsOf(ada.id))[0]!, (await receiptsOf(listing.sellerId))[0]!];
    const [mine, theirs] = [await proofOf(bought.id, ada.id), await proofOf(sold.id, listing.sellerId)];
    expect(mine.claims).toMatchObject({
      recipient_type: 'buyer',
      gateway_request_id: null,
      request_digest: null,
      response_digest: null,
      seller_status_code: null,
    });
    const { receipt_id: _mine, recipient_type: _buyer, ...shared } = mine.claims;
    expect(theirs.claims).toEqual({ ...shared, receipt_id: sold.id, recipient_type: 'seller' });
    for (const [receipt, who] of [
      [bought, listing.sellerId],
      [sold, ada.id],
      [bought, newId()],
    ] as const)
      expect(await reasonOf(proofOf(receipt.id, who))).toBe('receipt_not_found');
  });

  it('publishes every key, the signing one first', async () => {
    const { keys } = await harness.edge.request(listSigningKeys, {}, as(newId()));
    expect(keys).toHaveLength(2);
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(2);
    expect(listSigningKeys.output.safeParse({ keys }).error).toBeUndefined();
  });
});
