import {
  catalogContract,
  listingChanged,
  listingRemoved,
  listingSuspended,
  listingTouched,
  listingWorkSolved,
} from './catalog/index.js';
import type { EventContract, RequestContract, ServiceContract, SignalContract } from './define.js';
import {
  callFailed,
  jobEnded,
  jobProgressed,
  endpointChanged,
  endpointTouched,
  gatewayContract,
  listingQualityMeasured,
  streamGrew,
  streamsRead,
  webhookDisabled,
} from './gateway/index.js';
import {
  agentClaimed,
  agentRegistered,
  agentSuspensionChanged,
  apiKeyChanged,
  apiKeyRevoked,
  identityContract,
  registrationWorkSolved,
  sessionEnded,
  walletLinked,
} from './identity/index.js';
import {
  budgetReached,
  feesNearLimit,
  feesPaid,
  paymentArrived,
  paymentCompleted,
  paymentRefundDue,
  paymentRefunded,
  paymentsLedgerContract,
  refundOverdue,
  sellerStandingChanged,
  subscriptionEnded,
  subscriptionStarted,
} from './payments-ledger/index.js';
import { eventsAdded, listingPopularityMeasured, listingRated, reputationContract } from './reputation/index.js';

export const SERVICE_NAMES = [
  'identity',
  'catalog',
  'payments-ledger',
  'gateway',
  'reputation',
  'api-gateway',
] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

/**
 * The messages that a service may send and receive. The broker's permissions are generated from it, and each service is
 * checked against it when it starts.
 */
export interface ServiceTopology {
  serves: ServiceContract;
  calls: readonly RequestContract[];
  emits: readonly EventContract[];
  consumes: readonly EventContract[];
  signals: readonly SignalContract[];
  subscribes: readonly SignalContract[];
}

const { openPayerAccount, findPayerWallet, findSettlementWallets, findPayoutWallets, ...publicIdentity } =
  identityContract;
const { getOffering, ...publicCatalog } = catalogContract;
const { provisionEndpoint, ...publicGateway } = gatewayContract;
const { readEvents, ...publicReputation } = reputationContract;
const {
  createOffer,
  takeIncludedCall,
  quoteKeyless,
  openKeylessPayment,
  authorizePayment,
  settlePayment,
  collectPayment,
  releasePayment,
  getPurchaseEvidence,
  findUnpayableSellers,
  ...publicLedger
} = paymentsLedgerContract;

export const topology: Record<ServiceName, ServiceTopology> = {
  identity: {
    serves: identityContract,
    calls: [],
    emits: [agentRegistered, agentClaimed, agentSuspensionChanged, walletLinked, registrationWorkSolved],
    consumes: [],
    signals: [apiKeyRevoked, apiKeyChanged, sessionEnded],
    subscribes: [],
  },
  catalog: {
    serves: catalogContract,
    calls: [publicIdentity.getAgents, provisionEndpoint, publicLedger.checkPayable, findUnpayableSellers],
    emits: [listingChanged, listingSuspended, listingRemoved, listingWorkSolved],
    consumes: [
      agentRegistered,
      agentSuspensionChanged,
      endpointChanged,
      listingQualityMeasured,
      paymentCompleted,
      subscriptionStarted,
      sellerStandingChanged,
      listingRated,
      listingPopularityMeasured,
    ],
    signals: [listingTouched],
    subscribes: [],
  },
  'payments-ledger': {
    serves: paymentsLedgerContract,
    calls: [getOffering, findSettlementWallets, findPayoutWallets, openPayerAccount],
    emits: [
      paymentArrived,
      paymentCompleted,
      paymentRefundDue,
      paymentRefunded,
      refundOverdue,
      feesNearLimit,
      feesPaid,
      budgetReached,
      subscriptionStarted,
      subscriptionEnded,
      sellerStandingChanged,
    ],
    consumes: [],
    signals: [],
    subscribes: [],
  },
  gateway: {
    serves: gatewayContract,
    calls: [
      findPayerWallet,
      getOffering,
      createOffer,
      takeIncludedCall,
      quoteKeyless,
      openKeylessPayment,
      authorizePayment,
      settlePayment,
      collectPayment,
      releasePayment,
      readEvents,
    ],
    emits: [callFailed, jobProgressed, jobEnded, endpointChanged, listingQualityMeasured, webhookDisabled],
    consumes: [
      agentSuspensionChanged,
      listingRemoved,
      paymentArrived,
      paymentCompleted,
      paymentRefundDue,
      paymentRefunded,
    ],
    signals: [endpointTouched, streamGrew],
    subscribes: [listingTouched, endpointTouched, eventsAdded, streamsRead],
  },
  reputation: {
    serves: reputationContract,
    calls: [getOffering, getPurchaseEvidence, publicIdentity.getAgents],
    emits: [listingRated, listingPopularityMeasured],
    consumes: [
      paymentCompleted,
      feesPaid,
      callFailed,
      subscriptionStarted,
      agentRegistered,
      walletLinked,
      agentClaimed,
      registrationWorkSolved,
      listingWorkSolved,
      listingChanged,
      listingSuspended,
      endpointChanged,
      paymentRefundDue,
      paymentRefunded,
      refundOverdue,
      feesNearLimit,
      budgetReached,
      subscriptionEnded,
      webhookDisabled,
      jobProgressed,
      jobEnded,
    ],
    signals: [eventsAdded],
    subscribes: [],
  },
  'api-gateway': {
    serves: {},
    calls: [
      ...Object.values(publicIdentity),
      ...Object.values(publicCatalog),
      ...Object.values(publicGateway),
      ...Object.values(publicLedger),
      ...Object.values(publicReputation),
    ],
    emits: [],
    consumes: [],
    signals: [streamsRead],
    subscribes: [apiKeyRevoked, apiKeyChanged, sessionEnded, eventsAdded, streamGrew],
  },
};
