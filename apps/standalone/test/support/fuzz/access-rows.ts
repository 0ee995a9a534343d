import { newId } from '@market/kernel';
import type { Fixtures } from './fixtures.js';

/** An exact answer: the status, and for a refusal its code and reason. */
export type Expected = readonly [status: number, code?: string, reason?: string];

/** The id in a path or a body, and the answers to different callers. */
interface OwnedId {
  /** The name of the parameter in the path, or of the field in the body. */
  parameter: string;
  /** Returns an id that the owner may use up. */
  own(fixtures: Fixtures): string | Promise<string>;
  /** The reason of the 404 for ids that do not exist or that the caller may not see. */
  unknown: string;
  /** The answer to accounts that do not own it; by default the same as for unknown ids. */
  strangers?: Expected;
  /** The answer to a malformed id; by default the same as for unknown ids. */
  malformed?: Expected;
  /** The slug of the same resource if the operation accepts slugs; other operations answer that it is unknown. */
  slug?(fixtures: Fixtures): string;
  /** Ids of the same kind that only their owner can see. */
  hidden?(fixtures: Fixtures): string[];
}

export interface AccessRow {
  id?: OwnedId;
  /** The answer to the owner, with the document's first example as the body; by default the operation's success. */
  granted?: Expected;
  /** The answer to the keys of an agent that is claimed, as the owner is. */
  toClaimed?: Expected;
  /** Replaces the document's example. */
  body?(fixtures: Fixtures): object | Promise<object>;
  /** The answer contains the payout wallets of sellers for all callers. */
  namesPayees?: true;
  /** The operation ends the session of the request. */
  endsSession?: true;
}

const badRequest = (reason: string): Expected => [400, 'BAD_REQUEST', reason];
const forbidden = (reason: string): Expected => [403, 'FORBIDDEN', reason];

const hiddenListings = ({ draft, suspended }: Fixtures): string[] => [draft.id, suspended.id];

/** A listing of the owner, which is changed or removed. */
const ownListing: OwnedId = {
  parameter: 'listingId',
  own: async (fixtures) => (await fixtures.listing()).id,
  unknown: 'listing_not_found',
  strangers: forbidden('not_owner'),
  hidden: hiddenListings,
};
const ownEndpoint: OwnedId = {
  parameter: 'listingId',
  own: ({ perCall }) => perCall.id,
  unknown: 'endpoint_not_found',
  strangers: forbidden('not_owner'),
  hidden: hiddenListings,
};

/** A listing that everyone can see while it is active. */
const shownListing: AccessRow = {
  id: {
    parameter: 'listingId',
    own: ({ free }) => free.id,
    unknown: 'listing_not_found',
    strangers: [200],
    slug: ({ free }) => free.slug,
    hidden: hiddenListings,
  },
};

/** Operators can see listings in every state. */
const anyListing: AccessRow = {
  id: {
    parameter: 'listingId',
    own: async (fixtures) => (await fixtures.listing()).id,
    unknown: 'listing_not_found',
    slug: ({ spare }) => spare.slug,
  },
};
const unknownAgent: OwnedId = {
  parameter: 'agentId',
  own: (fixtures) => fixtures.freshAgent(),
  unknown: 'agent_not_found',
};

const ownWebhook: OwnedId = { parameter: 'webhookId', own: ({ webhook }) => webhook.id, unknown: 'webhook_not_found' };
const ownReceipt: OwnedId = { parameter: 'receiptId', own: ({ receiptId }) => receiptId, unknown: 'receipt_not_found' };
const ownWallet: OwnedId = { parameter: 'id', own: ({ walletId }) => walletId, unknown: 'wallet_not_found' };

/** In a body, an id that is not a uuid is refused as invalid. */
const listingInBody = {
  parameter: 'listing_id',
  unknown: 'listing_not_found',
  malformed: badRequest('request_invalid'),
  hidden: hiddenListings,
};

/** A call that its seller did not take as a job, so that nobody delivers it. */
const calledAtOnce: AccessRow = {
  id: { parameter: 'requestId', own: ({ gatewayRequestId }) => gatewayRequestId, unknown: 'job_not_found' },
  granted: [404, 'NOT_FOUND', 'job_not_found'],
};

/** A listing whose callers are asked to pay. */
const soldListing: AccessRow = {
  id: {
    parameter: 'listingId',
    own: ({ shop }) => shop.id,
    unknown: 'listing_not_found',
    strangers: [402, 'PAYMENT_REQUIRED'],
    slug: ({ shop }) => shop.slug,
    hidden: hiddenListings,
  },
  granted: [402, 'PAYMENT_REQUIRED'],
};

/**
 * The ownership rules of operations, which the OpenAPI document does not contain. Every operation has a row, even if it
 * has no rules.
 */
export const ACCESS_ROWS: Record<string, AccessRow> = {
  getHealth: {},
  getOpenApi: {},
  listRecoveryActions: {},
  listPaymentRoutes: {},

  createChallenge: {},
  register: { granted: badRequest('challenge_invalid') },
  recover: { granted: badRequest('challenge_invalid') },
  openSession: { granted: badRequest('challenge_invalid') },
  getOidcProvider: {},
  beginOidcSignIn: { granted: [404, 'NOT_FOUND', 'oidc_not_configured'] },
  openOidcSession: { granted: [404, 'NOT_FOUND', 'oidc_not_configured'] },
  closeSession: { endsSession: true },
  getProfile: {},
  listWallets: {},
  linkWallet: { granted: badRequest('challenge_invalid') },
  getWallet: { id: ownWallet },
  updateWallet: { id: ownWallet, granted: badRequest('challenge_invalid') },
  claimAgent: {
    id: {
      parameter: 'agentId',
      own: ({ outsider }) => outsider.id,
      unknown: 'agent_not_found',
      strangers: badRequest('challenge_invalid'),
    },
  },
  createClaimCode: {
    id: { parameter: 'agentId', own: ({ outsider }) => outsider.id, unknown: 'agent_not_found', strangers: [200] },
  },
  agreeToClaim: { granted: badRequest('challenge_invalid'), toClaimed: [409, 'CONFLICT', 'agent_already_claimed'] },
  listApiKeys: {},
  createApiKey: { body: () => ({ name: 'made by the matrix', scopes: ['write'] }) },
  getApiKey: {
    id: { parameter: 'keyId', own: async (fixtures) => (await fixtures.spareKey()).id, unknown: 'api_key_not_found' },
  },
  updateApiKey: {
    id: { parameter: 'keyId', own: async (fixtures) => (await fixtures.spareKey()).id, unknown: 'api_key_not_found' },
  },
  getBudget: {},
  updateBudget: { toClaimed: forbidden('budget_is_the_owners'), body: () => ({ budget: null }) },
  revokeApiKey: {
    id: { parameter: 'keyId', own: async (fixtures) => (await fixtures.spareKey()).id, unknown: 'api_key_not_found' },
  },

  listCategories: {},
  listEvents: {},
  listWebhooks: {},
  createWebhook: { granted: badRequest('webhook_url_refused'), body: () => ({ url: 'ftp://hooks.example' }) },
  getWebhook: { id: ownWebhook },
  updateWebhook: { id: ownWebhook, body: () => ({ description: 'changed' }) },
  deleteWebhook: { id: { ...ownWebhook, own: async (fixtures) => (await fixtures.freshWebhook()).id } },
  rotateWebhookSecret: { id: ownWebhook },
  testWebhook: { id: ownWebhook },
  listWebhookDeliveries: { id: ownWebhook },
  replayWebhookDelivery: {
    id: { parameter: 'deliveryId', own: ({ deliveryId }) => deliveryId, unknown: 'delivery_not_found' },
  },
  searchListings: {},
  listResources: { namesPayees: true },
  searchResources: { namesPayees: true },
  getListing: shownListing,
  createListingChallenge: {},
  createListing: {
    granted: badRequest('challenge_invalid'),
    body: () => ({
      name: 'A listing of the matrix',
      description: 'Never made, for want of work.',
      challenge: '0'.repeat(64),
      pow_nonce: 'x',
    }),
  },
  updateListing: { id: ownListing, body: () => ({ tags: ['changed'] }) },
  removeListing: { id: ownListing },
  validateListing: {
    id: {
      parameter: 'listing',
      own: ({ free }) => free.id,
      unknown: 'listing_not_found',
      strangers: forbidden('not_owner'),
      slug: ({ free }) => free.slug,
      hidden: hiddenListings,
    },
    body: ({ free }) => ({ listing: free.id }),
    namesPayees: true,
  },

  getEndpoint: { id: ownEndpoint },
  updateEndpoint: { id: ownEndpoint, body: () => ({ timeout_ms: 20_000 }) },
  testEndpoint: { id: ownEndpoint },
  rotateSecret: { id: ownEndpoint },

  executeCall: soldListing,
  executeKeylessCall: soldListing,
  showPrice: soldListing,
  listGatewayRequests: {},
  getGatewayRequest: {
    id: {
      parameter: 'requestId',
      own: ({ gatewayRequestId }) => gatewayRequestId,
      unknown: 'gateway_request_not_found',
    },
  },
  cancelCall: {
    id: {
      parameter: 'requestId',
      own: ({ gatewayRequestId }) => gatewayRequestId,
      unknown: 'gateway_request_not_found',
    },
    granted: [409, 'CONFLICT', 'not_cancellable'],
  },
  getGatewayRequestContent: {
    id: {
      parameter: 'requestId',
      own: ({ fileRequestId }) => fileRequestId,
      unknown: 'content_not_found',
    },
  },
  getListingQuality: shownListing,
  getOverview: {},
  searchAll: { granted: badRequest('request_invalid') },
  listAudit: {},
  inspectAgent: { id: { parameter: 'agentId', own: ({ owner }) => owner.id, unknown: 'agent_not_found' } },
  inspectListing: anyListing,
  inspectPayment: {
    id: {
      parameter: 'paymentId',
      own: ({ pendingPayment }) => pendingPayment.payment_id,
      unknown: 'payment_not_found',
    },
  },
  inspectCall: {
    id: {
      parameter: 'requestId',
      own: ({ gatewayRequestId }) => gatewayRequestId,
      unknown: 'gateway_request_not_found',
    },
  },
  suspendAgent: { id: unknownAgent },
  releaseAgent: { id: unknownAgent },
  suspendListing: anyListing,
  releaseListing: anyListing,
  revokeAnyKey: {
    id: { parameter: 'keyId', own: async (fixtures) => (await fixtures.spareKey()).id, unknown: 'api_key_not_found' },
  },
  listLedger: {},
  getBalance: {},
  getStatement: {
    id: {
      parameter: 'month',
      own: () => '2026-01',
      unknown: 'statement_not_found',
      strangers: [200],
    },
  },
  listRefunds: {},
  confirmRefund: {
    id: { parameter: 'refundId', own: () => newId(), unknown: 'refund_not_found' },
    granted: [404, 'NOT_FOUND', 'refund_not_found'],
  },
  payFees: { granted: [409, 'CONFLICT', 'no_fees_due'] },
  listReceipts: {},
  subscribe: {
    id: { ...listingInBody, own: async (fixtures) => (await fixtures.merchantsListing()).id, strangers: [201] },
  },
  listSubscriptions: {},
  getSubscription: {
    id: { parameter: 'subscriptionId', own: ({ subscriptionId }) => subscriptionId, unknown: 'subscription_not_found' },
  },
  cancelSubscription: {
    id: {
      parameter: 'subscriptionId',
      own: async (fixtures) => fixtures.freshSubscription(),
      unknown: 'subscription_not_found',
    },
  },
  createPayment: { id: { ...listingInBody, own: ({ feed }) => feed.id, strangers: [200] } },
  verifyPayment: {
    id: {
      parameter: 'payment_id',
      own: ({ pendingPayment }) => pendingPayment.payment_id,
      unknown: 'payment_not_found',
      malformed: badRequest('request_invalid'),
    },
    granted: badRequest('payment_unpaid'),
    body: ({ pendingPayment }) => ({ relay_request_id: pendingPayment.requirements.relayRequestId }),
  },
  getPayment: {
    id: {
      parameter: 'paymentId',
      own: ({ pendingPayment }) => pendingPayment.payment_id,
      unknown: 'payment_not_found',
    },
  },

  getReceipt: { id: ownReceipt },
  getReceiptProof: { id: ownReceipt },

  listReviews: shownListing,
  createReview: {
    id: {
      parameter: 'listingId',
      own: ({ free }) => free.id,
      unknown: 'listing_not_found',
      strangers: forbidden('purchase_required'),
      slug: ({ free }) => free.slug,
      hidden: hiddenListings,
    },
    granted: forbidden('own_listing'),
  },
  getAgent: {
    id: { parameter: 'agentId', own: ({ owner }) => owner.id, unknown: 'agent_not_found', strangers: [200] },
  },
  getScore: {
    id: { parameter: 'agentId', own: ({ owner }) => owner.id, unknown: 'agent_not_found', strangers: [200] },
  },

  deliverResult: calledAtOnce,
  deliverProgress: calledAtOnce,
  deliverFailure: calledAtOnce,
  handleRelayWebhook: { granted: [404, 'NOT_FOUND', 'relay_not_configured'] },
  paySandbox: {
    id: {
      parameter: 'relayRequestId',
      own: async (fixtures) => (await fixtures.unpaidOffer()).relay_request_id,
      unknown: 'payment_not_found',
    },
  },
};
