import {
  createListing,
  createListingChallenge,
  getListing,
  getListingCards,
  listCategories,
  removeListing,
  searchListings,
  updateListing,
} from '@market/contracts/catalog';
import {
  executeCall,
  executeKeylessCall,
  getEndpoint,
  getGatewayRequest,
  listGatewayRequests,
  rotateEndpointSecret,
  testEndpoint,
  updateEndpoint,
} from '@market/contracts/gateway';
import {
  claimAgent,
  CREDENTIAL_SECRET_LENGTH,
  closeSession,
  createApiKey,
  createChallenge,
  getAgents,
  getApiKey,
  getBudget,
  getProfile,
  getWallet,
  linkWallet,
  listApiKeys,
  listWallets,
  openSession,
  recover,
  register,
  revokeApiKey,
  sessionTokenOf,
  updateApiKey,
  updateBudget,
  updateWallet,
} from '@market/contracts/identity';
import {
  cancelSubscription,
  createPayment,
  getPayment,
  getReceipt,
  getReceiptProof,
  getSpending,
  getSubscription,
  handleRelayWebhook,
  listLedger,
  listPaymentRoutes,
  listReceipts,
  listSigningKeys,
  listSubscriptions,
  paySandbox,
  quoteExact,
  subscribe,
  verifyPayment,
} from '@market/contracts/payments-ledger';
import { createReview, getScore, listReviews } from '@market/contracts/reputation';
import type { FakeBus } from '@market/testing';
import {
  entryExample,
  proofExample,
  receiptExample,
  receiptRecordExample,
  signingKeysExample,
} from '../../src/books/books.examples.js';
import { endpointExample, rotatedExample, testOutcomeExample } from '../../src/endpoints/endpoints.examples.js';
import { gatewayRecordExample, gatewayResultExample, keylessOfferExample } from '../../src/gateway/gateway.examples.js';
import {
  budgetExample,
  challengeExample,
  claimExample,
  createdKeyExample,
  linkedWalletExample,
  profileExample,
  recoveryExample,
  registrationExample,
  sessionExample,
} from '../../src/identity/identity.examples.js';
import {
  categoryExample,
  createdListingExample,
  listingChallengeExample,
  listingDetailExample,
  listingExample,
} from '../../src/listings/listings.examples.js';
import { BUYER, EARLIER, LATER, LISTING_REF, SELLER } from '../../src/openapi/example-values.js';
import { routeExample } from '../../src/payment-routes/payment-routes.http-controller.js';
import { reviewRecordExample, scoreExample } from '../../src/reputation/reputation.examples.js';
import { sandboxPaymentExample } from '../../src/sandbox/sandbox-payments.http-controller.js';
import {
  listingCardExample,
  paymentExample,
  subscriptionExample,
  subscriptionOfferExample,
  subscriptionRecordExample,
  verifiedExample,
} from '../../src/subscriptions/subscriptions.examples.js';

/** Every service answers everything, as the documented examples say. */
export function answerEverything(bus: FakeBus): void {
  const { key: _key, ...listedKey } = createdKeyExample;
  bus
    .answers(createChallenge, () => challengeExample)
    .answers(register, () => registrationExample)
    .answers(getProfile, () => profileExample)
    .answers(getAgents, ({ ids }) => ({ agents: [BUYER, SELLER].filter(({ id }) => ids.includes(id)) }))
    .answers(listApiKeys, () => ({ keys: [{ ...listedKey, last_used_at: LATER }] }))
    .answers(createApiKey, () => createdKeyExample)
    .answers(getApiKey, () => ({ ...listedKey, budget: budgetExample, last_used_at: LATER }))
    .answers(updateApiKey, ({ budget }) => ({ ...listedKey, budget, last_used_at: LATER }))
    .answers(getBudget, () => ({ budget: budgetExample }))
    .answers(updateBudget, ({ budget }) => ({ budget }))
    .answers(getSpending, () => ({
      day: { from: EARLIER, resets_at: LATER, spent_usd: 1.25 },
      month: { from: EARLIER, resets_at: LATER, spent_usd: 20 },
    }))
    .answers(revokeApiKey, ({ key_id: id }) => ({ id, revoked: true as const }))
    .answers(recover, () => recoveryExample)
    .answers(listWallets, () => ({ wallets: [linkedWalletExample] }))
    .answers(getWallet, () => linkedWalletExample)
    .answers(linkWallet, () => linkedWalletExample)
    .answers(updateWallet, () => linkedWalletExample)
    .answers(claimAgent, () => claimExample)
    .answers(openSession, () => ({
      ...sessionExample,
      session_token: sessionTokenOf('s'.repeat(CREDENTIAL_SECRET_LENGTH)),
    }))
    .answers(closeSession, () => ({ ended: true as const }))
    .answers(listCategories, () => ({ categories: [categoryExample] }))
    .answers(searchListings, () => ({ itemsJson: JSON.stringify([listingExample]), total: 41, totalIsEstimate: false }))
    .answers(getListing, () => listingDetailExample)
    .answers(createListingChallenge, () => listingChallengeExample)
    .answers(createListing, () => createdListingExample)
    .answers(updateListing, () => listingDetailExample)
    .answers(removeListing, ({ listing_id }) => ({ id: listing_id, deleted: true }))
    .answers(executeCall, () => ({
      outcome: 'answered' as const,
      dataJson: JSON.stringify(gatewayResultExample),
      idempotencyReplayed: false,
    }))
    .answers(executeKeylessCall, ({ authorization }) =>
      authorization === undefined
        ? { outcome: 'payment_required' as const, listing: LISTING_REF, offers: [keylessOfferExample], signatures: [] }
        : { outcome: 'answered' as const, dataJson: JSON.stringify(gatewayResultExample), idempotencyReplayed: false },
    )
    .answers(listGatewayRequests, () => ({ items: [gatewayRecordExample], total: 1, nextCursor: null }))
    .answers(getGatewayRequest, () => gatewayRecordExample)
    .answers(getEndpoint, () => endpointExample)
    .answers(updateEndpoint, () => endpointExample)
    .answers(testEndpoint, () => testOutcomeExample)
    .answers(rotateEndpointSecret, () => rotatedExample)
    .answers(listLedger, () => ({ items: [entryExample], total: 1, nextCursor: null }))
    .answers(listReceipts, () => ({ items: [receiptExample], total: 1, nextCursor: null }))
    .answers(getReceipt, () => receiptRecordExample)
    .answers(getReceiptProof, () => proofExample)
    .answers(quoteExact, ({ prices }) => ({ terms: prices.map(() => []), minimumMicros: '10000' }))
    .answers(listPaymentRoutes, () => ({ routes: [routeExample] }))
    .answers(listSigningKeys, () => signingKeysExample)
    .answers(getListingCards, () => ({ listings: [listingCardExample] }))
    .answers(subscribe, () => ({ outcome: 'subscribed' as const, subscription: subscriptionExample }))
    .answers(createPayment, () => subscriptionOfferExample)
    .answers(getPayment, () => paymentExample)
    .answers(verifyPayment, () => verifiedExample)
    .answers(listSubscriptions, () => ({ items: [subscriptionRecordExample], total: 1 }))
    .answers(getSubscription, () => subscriptionRecordExample)
    .answers(cancelSubscription, ({ subscription_id: id }) => ({ id, status: 'cancelled' as const }))
    .answers(listReviews, () => ({ items: [reviewRecordExample], total: 1 }))
    .answers(createReview, () => reviewRecordExample)
    .answers(getScore, () => scoreExample)
    .answers(paySandbox, () => sandboxPaymentExample)
    .answers(handleRelayWebhook, () => ({ received: true as const }));
}
