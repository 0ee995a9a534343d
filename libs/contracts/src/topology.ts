import { catalogContract, listingChanged, listingRemoved, listingTouched, listingWorkSolved } from './catalog/index.js';
import type { EventContract, RequestContract, ServiceContract, SignalContract } from './define.js';
import { callFailed, claimsHeld, endpointChanged, endpointTouched, gatewayContract } from './gateway/index.js';
import {
  agentClaimed,
  agentRegistered,
  apiKeyRevoked,
  identityContract,
  registrationWorkSolved,
  sessionEnded,
  walletLinked,
} from './identity/index.js';
import {
  paymentCompleted,
  paymentRefundDue,
  paymentsLedgerContract,
  subscriptionStarted,
} from './payments-ledger/index.js';
import { listingRated, reputationContract } from './reputation/index.js';

export const SERVICE_NAMES = [
  'identity',
  'catalog',
  'payments-ledger',
  'gateway',
  'reputation',
  'api-gateway',
] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

/** What a service may say and hear. The broker's permissions are made from it, and a service is held to it at boot. */
export interface ServiceTopology {
  serves: ServiceContract;
  calls: readonly RequestContract[];
  emits: readonly EventContract[];
  consumes: readonly EventContract[];
  signals: readonly SignalContract[];
  hears: readonly SignalContract[];
}

const { openPayerAccount, findPayerWallet, findSettlementWallets, ...publicIdentity } = identityContract;
const { getOffering, ...publicCatalog } = catalogContract;
const { provisionEndpoint, ...publicGateway } = gatewayContract;
const {
  createOffer,
  quoteKeyless,
  openKeylessPayment,
  claimPayment,
  settlePayment,
  releasePayment,
  getPurchaseEvidence,
  ...publicLedger
} = paymentsLedgerContract;

export const topology: Record<ServiceName, ServiceTopology> = {
  identity: {
    serves: identityContract,
    calls: [],
    emits: [agentRegistered, agentClaimed, walletLinked, registrationWorkSolved],
    consumes: [],
    signals: [apiKeyRevoked, sessionEnded],
    hears: [],
  },
  catalog: {
    serves: catalogContract,
    calls: [publicIdentity.getAgents, provisionEndpoint],
    emits: [listingChanged, listingRemoved, listingWorkSolved],
    consumes: [agentRegistered, endpointChanged, paymentCompleted, subscriptionStarted, listingRated],
    signals: [listingTouched],
    hears: [],
  },
  'payments-ledger': {
    serves: paymentsLedgerContract,
    calls: [getOffering, findSettlementWallets, openPayerAccount],
    emits: [paymentCompleted, paymentRefundDue, subscriptionStarted],
    consumes: [],
    signals: [],
    hears: [claimsHeld],
  },
  gateway: {
    serves: gatewayContract,
    calls: [
      findPayerWallet,
      getOffering,
      createOffer,
      quoteKeyless,
      openKeylessPayment,
      claimPayment,
      settlePayment,
      releasePayment,
    ],
    emits: [callFailed, endpointChanged],
    consumes: [listingRemoved, paymentCompleted, paymentRefundDue],
    signals: [endpointTouched, claimsHeld],
    hears: [listingTouched, endpointTouched],
  },
  reputation: {
    serves: reputationContract,
    calls: [getOffering, getPurchaseEvidence, publicIdentity.getAgents],
    emits: [listingRated],
    consumes: [
      paymentCompleted,
      callFailed,
      subscriptionStarted,
      agentRegistered,
      walletLinked,
      agentClaimed,
      registrationWorkSolved,
      listingWorkSolved,
      listingChanged,
    ],
    signals: [],
    hears: [],
  },
  'api-gateway': {
    serves: {},
    calls: [
      ...Object.values(publicIdentity),
      ...Object.values(publicCatalog),
      ...Object.values(publicGateway),
      ...Object.values(publicLedger),
      ...Object.values(reputationContract),
    ],
    emits: [],
    consumes: [],
    signals: [],
    hears: [apiKeyRevoked, sessionEnded],
  },
};
