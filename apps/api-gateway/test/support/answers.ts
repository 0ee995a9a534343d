import { newId } from '@market/kernel';
import {
  createListing,
  createListingChallenge,
  getListing,
  getListingCards,
  getSellerQuality,
  listCategories,
  removeListing,
  searchListings,
  suggestSlugs,
  updateListing,
} from '@market/contracts/catalog';
import {
  cancelCall,
  executeCall,
  executeKeylessCall,
  openDelivery,
  findJobSeconds,
  getEndpoint,
  getGatewayRequest,
  openContent,
  readContent,
  createWebhook,
  deleteWebhook,
  getListingQuality,
  getWebhook,
  listGatewayRequests,
  listWebhookDeliveries,
  listWebhooks,
  replayWebhookDelivery,
  rotateEndpointSecret,
  rotateWebhookSecret,
  testEndpoint,
  testWebhook,
  updateEndpoint,
  updateWebhook,
} from '@market/contracts/gateway';
import {
  agreeToClaim,
  beginOidcSignIn,
  claimAgent,
  CREDENTIAL_SECRET_LENGTH,
  closeSession,
  createApiKey,
  createChallenge,
  createClaimCode,
  findPaidSeller,
  getAgent,
  getAgents,
  getApiKey,
  getBudget,
  getOidcProvider,
  getProfile,
  getWallet,
  linkWallet,
  listApiKeys,
  listWallets,
  openOidcSession,
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
  checkPayable,
  confirmRefund,
  createPayment,
  getBalance,
  getPayment,
  getReceipt,
  getReceiptProof,
  getSpending,
  getStatement,
  getSubscription,
  handleRelayWebhook,
  listLedger,
  listPaymentRoutes,
  listReceipts,
  listRefunds,
  listSigningKeys,
  listSubscriptions,
  payFees,
  paySandbox,
  quoteExact,
  subscribe,
  verifyPayment,
} from '@market/contracts/payments-ledger';
import { createReview, getScore, listEvents, listReviews } from '@market/contracts/reputation';
import { refuse } from '@market/messaging';
import type { FakeBus } from '@market/testing';
import { agentRecordExample, sellerQualityExample } from '../../src/agents/agents.examples.js';
import {
  entryExample,
  proofExample,
  receiptExample,
  receiptRecordExample,
  signingKeysExample,
} from '../../src/books/books.examples.js';
import { balanceExample, feesPaidExample } from '../../src/fees/fees.examples.js';
import { endpointExample, rotatedExample, testOutcomeExample } from '../../src/endpoints/endpoints.examples.js';
import { eventExample } from '../../src/events/events.examples.js';
import {
  gatewayRecordExample,
  gatewayRequestDetailExample,
  gatewayResultExample,
  keylessOfferExample,
} from '../../src/gateway/gateway.examples.js';
import {
  beginOidcExample,
  budgetExample,
  challengeExample,
  claimCodeExample,
  claimExample,
  createdKeyExample,
  linkedWalletExample,
  oidcSessionExample,
  profileExample,
  recoveryExample,
  registrationExample,
  sessionExample,
} from '../../src/identity/identity.examples.js';
import {
  dayQualityExample,
  categoryExample,
  createdListingExample,
  listingChallengeExample,
  listingDetailExample,
  listingExample,
} from '../../src/listings/listings.examples.js';
import { BUYER, EARLIER, LATER, LISTING_REF, SELLER } from '../../src/openapi/example-values.js';
import { routeExample } from '../../src/payment-routes/payment-routes.http-controller.js';
import { reviewRecordExample, scoreExample } from '../../src/reputation/reputation.examples.js';
import { refundExample } from '../../src/refunds/refunds.http-controller.js';
import { statementExample } from '../../src/books/statements.http-controller.js';
import { sandboxPaymentExample } from '../../src/sandbox/sandbox-payments.http-controller.js';
import {
  listingCardExample,
  paymentExample,
  subscriptionExample,
  subscriptionOfferExample,
  subscriptionRecordExample,
  verifiedExample,
} from '../../src/subscriptions/subscriptions.examples.js';

import {
  createdWebhookExample,
  deliveryExample,
  rotatedWebhookExample,
  testedWebhookExample,
  webhookExample,
} from '../../src/webhooks/webhooks.examples.js';

/** Makes every fake service answer all requests with the documented examples. */
export function answerEverything(bus: FakeBus): void {
  const { key: _key, ...listedKey } = createdKeyExample;
  bus
    .answers(createChallenge, () => challengeExample)
    .answers(register, () => registrationExample)
    .answers(getProfile, () => profileExample)
    .answers(getAgent, () => agentRecordExample)
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
    .answers(createClaimCode, () => claimCodeExample)
    .answers(agreeToClaim, () => claimExample)
    .answers(openSession, () => ({
      ...sessionExample,
      session_token: sessionTokenOf('s'.repeat(CREDENTIAL_SECRET_LENGTH)),
    }))
    .answers(getOidcProvider, () => ({ issuer: null }))
    .answers(beginOidcSignIn, () => beginOidcExample)
    .answers(openOidcSession, () => ({
      ...oidcSessionExample,
      session_token: sessionTokenOf('s'.repeat(CREDENTIAL_SECRET_LENGTH)),
    }))
    .answers(closeSession, () => ({ ended: true as const }))
    .answers(listCategories, () => ({ categories: [categoryExample] }))
    .answers(searchListings, () => ({
      itemsJson: JSON.stringify([listingExample]),
      total: 41,
      totalIsEstimate: false,
      next: null,
    }))
    .answers(getListing, () => listingDetailExample)
    .answers(getSellerQuality, () => sellerQualityExample)
    .answers(suggestSlugs, () => ({ slugs: [listingExample.slug] }))
    .answers(createListingChallenge, () => listingChallengeExample)
    .answers(createListing, () => createdListingExample)
    .answers(updateListing, () => listingDetailExample)
    .answers(removeListing, ({ listing_id }) => ({ id: listing_id, deleted: true }))
    .answers(openDelivery, () => {
      throw refuse(openDelivery, 'job_not_found', {});
    })
    .answers(cancelCall, ({ requestId }) => ({
      request_id: requestId,
      status: 'cancelling' as const,
      retry_after_seconds: 5,
    }))
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
    .answers(getGatewayRequest, () => ({ ...gatewayRecordExample, attempts: gatewayRequestDetailExample.attempts }))
    .answers(openContent, () => ({
      content: { id: newId(), contentType: 'text/csv', size: 12, sha256: '0'.repeat(64) },
      dataJson: JSON.stringify(gatewayResultExample),
    }))
    .answers(readContent, () => ({ base64: Buffer.from('city,celsius').toString('base64') }))
    .answers(getListingQuality, () => ({ days: [dayQualityExample] }))
    .answers(getEndpoint, () => endpointExample)
    .answers(updateEndpoint, () => endpointExample)
    .answers(testEndpoint, () => testOutcomeExample)
    .answers(rotateEndpointSecret, () => rotatedExample)
    .answers(listEvents, () => ({ items: [eventExample], hasMore: false, latest: eventExample.id, total: 1 }))
    .answers(listWebhooks, () => ({ webhooks: [webhookExample] }))
    .answers(createWebhook, () => createdWebhookExample)
    .answers(getWebhook, () => webhookExample)
    .answers(updateWebhook, () => webhookExample)
    .answers(deleteWebhook, ({ webhook_id: id }) => ({ id, deleted: true as const }))
    .answers(rotateWebhookSecret, () => rotatedWebhookExample)
    .answers(testWebhook, () => testedWebhookExample)
    .answers(listWebhookDeliveries, () => ({ items: [deliveryExample], total: 1, nextCursor: null }))
    .answers(replayWebhookDelivery, () => deliveryExample)
    .answers(listLedger, () => ({ items: [entryExample], total: 1, nextCursor: null }))
    .answers(getBalance, () => balanceExample)
    .answers(payFees, () => feesPaidExample)
    .answers(getStatement, () => ({
      ...statementExample,
      currency: 'USD' as const,
      entries: { items: [entryExample], total: 1, nextCursor: null },
    }))
    .answers(listRefunds, () => ({ items: [refundExample], total: 1, nextCursor: null }))
    .answers(confirmRefund, () => refundExample)
    .answers(listReceipts, () => ({ items: [receiptExample], total: 1, nextCursor: null }))
    .answers(getReceipt, () => receiptRecordExample)
    .answers(getReceiptProof, () => proofExample)
    .answers(findJobSeconds, ({ listings }) => ({ jobSeconds: listings.map(() => null) }))
    .answers(quoteExact, ({ calls }) => ({
      terms: calls.map(() => []),
      minimumMicros: '10000',
      networks: [],
      uptoNetworks: [],
      payTo: null,
    }))
    .answers(checkPayable, () => ({ isPayable: true, missing: [] }))
    .answers(findPaidSeller, () => ({ sellerId: null }))
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
