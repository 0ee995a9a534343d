import { catalogContract, listingChanged, listingRemoved, listingTouched } from './catalog/index.js';
import type { EventContract, RequestContract, ServiceContract, SignalContract } from './define.js';
import { callFailed, endpointChanged, endpointTouched, gatewayContract } from './gateway/index.js';
import { agentRegistered, apiKeyRevoked, identityContract, registrationWorkSolved, sessionEnded, walletLinked } from './identity/index.js';
import { paymentCompleted, paymentRefundDue, paymentsLedgerContract } from './payments-ledger/index.js';
import { reputationContract } from './reputation/index.js';

export const SERVICE_NAMES = ['identity', 'catalog', 'payments-ledger', 'gateway', 'reputation', 'api-gateway'] as const;
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

const { getOffering, ...publicCatalog } = catalogContract;
const { provisionEndpoint, ...publicGateway } = gatewayContract;
const { createOffer, claimPayment, settlePayment, releasePayment, paySandbox, listReceipts, getReceipt, listLedger } = paymentsLedgerContract;

export const topology: Record<ServiceName, ServiceTopology> = {
  identity: {
    serves: identityContract,
    calls: [],
    emits: [agentRegistered, walletLinked, registrationWorkSolved],
    consumes: [],
    signals: [apiKeyRevoked, sessionEnded],
    hears: [],
  },
  catalog: {
    serves: catalogContract,
    calls: [identityContract.getAgents, provisionEndpoint],
    emits: [listingChanged, listingRemoved],
    consumes: [agentRegistered, endpointChanged, paymentCompleted],
    signals: [listingTouched],
    hears: [],
  },
  'payments-ledger': {
    serves: paymentsLedgerContract,
    calls: [],
    emits: [paymentCompleted, paymentRefundDue],
    consumes: [],
    signals: [],
    hears: [],
  },
  gateway: {
    serves: gatewayContract,
    calls: [getOffering, createOffer, claimPayment, settlePayment, releasePayment],
    emits: [callFailed, endpointChanged],
    consumes: [listingRemoved, paymentCompleted, paymentRefundDue],
    signals: [endpointTouched],
    hears: [listingTouched, endpointTouched],
  },
  reputation: {
    serves: reputationContract,
    calls: [],
    emits: [],
    consumes: [paymentCompleted, callFailed],
    signals: [],
    hears: [],
  },
  'api-gateway': {
    serves: {},
    calls: [
      ...Object.values(identityContract),
      ...Object.values(publicCatalog),
      ...Object.values(publicGateway),
      paySandbox,
      listReceipts,
      getReceipt,
      listLedger,
    ],
    emits: [],
    consumes: [],
    signals: [],
    hears: [apiKeyRevoked, sessionEnded],
  },
};
