import { BOUGHT_BODY, type Fixtures } from './fixtures.js';
import type { Known } from './values.js';
import { newId } from '@market/kernel';
import { evmWallet, solanaWallet } from '@market/sdk';

/**
 * Values that the document does not contain: ids and names of the fixtures, by the name of the parameter or field. If
 * an operation uses up the values, they are listed under the operation's name as well.
 */
export async function knownValues(fixtures: Fixtures): Promise<Known> {
  const { owner, outsider, merchant, human, free, perCall, draft, suspended, shop, feed } = fixtures;
  // Listings with endpoints are repeated, so that they are chosen more often.
  const listings = [free, perCall, perCall, perCall, draft, suspended, shop, shop, shop].flatMap(({ id, slug }) => [
    id,
    id,
    slug,
  ]);
  const spareKeys = await Promise.all(Array.from({ length: 8 }, () => fixtures.spareKey()));
  const spareListings = await Promise.all(Array.from({ length: 8 }, () => fixtures.listing()));
  const spareWebhooks = await Promise.all(Array.from({ length: 3 }, () => fixtures.freshWebhook()));
  const offers = await Promise.all(Array.from({ length: 8 }, () => fixtures.unpaidOffer()));
  const relayRequestIds = [
    fixtures.relayRequestId,
    fixtures.pendingPayment.requirements.relayRequestId,
    ...offers.map((offer) => offer.relay_request_id),
  ];
  const wallets = [owner.wallet, human.wallet, evmWallet(), solanaWallet()].map(({ address }) => address);
  const accounts = [owner, outsider, merchant, human].map(({ id }) => id);
  const categories = (await owner.market.categories()).map(({ id }) => id);
  const urls = [fixtures.sellerUrl, `${fixtures.sellerUrl}?with=query`, 'http://127.0.0.1:1/closed'];
  return {
    listingId: [...listings, newId()],
    listing_id: [
      ...[
        feed,
        feed,
        await fixtures.merchantsListing(),
        await fixtures.merchantsListing(),
        free,
        perCall,
        draft,
        suspended,
        shop,
      ].map(({ id }) => id),
      shop.slug,
      newId(),
    ],
    'removeListing listingId': [...spareListings.map(({ id }) => id), suspended.id, shop.id, shop.slug, newId()],
    'executeCall listingId': [shop.id, shop.id, shop.slug, perCall.id, free.id, draft.id, newId()],
    'executeCall body': [BOUGHT_BODY, { ask: 'something else' }],
    'executeKeylessCall listingId': [shop.id, shop.slug, perCall.id, free.id, draft.id, newId()],
    'showPrice listingId': [shop.id, shop.slug, free.id, draft.id, newId()],
    subscriptionId: [fixtures.subscriptionId, await fixtures.freshSubscription(), newId()],
    paymentId: [fixtures.pendingPayment.payment_id, newId()],
    id: [...(await owner.market.me()).wallets.map((wallet) => wallet.id), newId()],
    keyId: [...spareKeys.map(({ id }) => id), newId()],
    requestId: [fixtures.gatewayRequestId, newId()],
    'getGatewayRequestContent requestId': [fixtures.fileRequestId, fixtures.gatewayRequestId, newId()],
    receiptId: [fixtures.receiptId, newId()],
    webhookId: [fixtures.webhook.id, newId()],
    'deleteWebhook webhookId': [...spareWebhooks.map(({ id }) => id), newId()],
    deliveryId: [fixtures.deliveryId, newId()],
    refundId: [newId()],
    month: [new Date().toISOString().slice(0, 7), '2026-01'],
    relayRequestId: relayRequestIds,
    relay_request_id: relayRequestIds,
    'X-Market-Relay-Request-Id': relayRequestIds,
    'X-Market-Origin-Currency': ['USDC', 'ETH', 'SOL'],
    'X-Market-Origin-Wallet-Id': [fixtures.walletId],
    'X-Market-Origin-Chain-Id': ['eip155:84532', '84532'],
    'X-Market-Payment-Scheme': ['deposit'],
    'X-Market-Payment-Network': ['eip155:84532'],
    'Idempotency-Key': ['one', 'two', 'three'],
    'If-None-Match': ['*', 'W/"x"'],
    // The two proofs of a payment exclude each other, and most values that fit the schema do not belong to this
    // payment.
    payload: [undefined],
    scheme: [undefined],
    network: [undefined],
    transactionHash: [undefined],
    payment_id: [
      fixtures.pendingPayment.payment_id,
      fixtures.pendingPayment.payment_id,
      ...offers.map((offer) => offer.payment_id),
      newId(),
    ],
    input_schema: [undefined, { type: 'object' }],
    example_input: [undefined, {}, BOUGHT_BODY],
    output_schema: [undefined, {}],
    category: categories,
    category_id: categories,
    wallet_address: wallets,
    agent_id: [...accounts, owner.id, owner.id, owner.id, newId()],
    // Freezing the owner would make every later request fail.
    'updateBudget agent_id': [outsider.id, merchant.id, newId()],
    agentId: [...accounts, newId()],
    // Operators stop agents and listings that no other operation needs.
    'suspendAgent agentId': [await fixtures.freshAgent(), human.id, newId()],
    'suspendListing listingId': [fixtures.spare.id, fixtures.spare.slug, newId()],
    private_endpoint_url: urls,
    url: urls,
    'searchAll q': [
      owner.id,
      fixtures.gatewayRequestId,
      fixtures.fileRequestId,
      fixtures.relayRequestId,
      owner.wallet.address,
      'The owner',
      shop.slug,
    ],
    q: ['shop', 'owned something', '"the owner"', '-shop'],
  };
}
