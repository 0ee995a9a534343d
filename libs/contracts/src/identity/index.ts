import { createChallenge } from './challenges.js';
import { getAgent, getAgents, getProfile, openPayerAccount, recover, register } from './agents.js';
import {
  authenticate,
  createApiKey,
  getApiKey,
  getBudget,
  listApiKeys,
  revokeApiKey,
  updateApiKey,
  updateBudget,
} from './api-keys.js';
import { agreeToClaim, claimAgent, createClaimCode, getOwnedAgent } from './claims.js';
import { operationsOf } from '../operations.js';
import { findAccounts, inspectAccount, recordOperatorRead, revokeAnyKey, suspendAgent } from './operators.js';
import { beginOidcSignIn, closeSession, getOidcProvider, openOidcSession, openSession } from './sessions.js';
import {
  findPaidSeller,
  findPayerWallet,
  findPayoutWallets,
  findSettlementWallets,
  getWallet,
  linkWallet,
  listWallets,
  updateWallet,
} from './wallets.js';

export * from './agents.js';
export * from './credential-format.js';
export * from './api-keys.js';
export * from './challenges.js';
export * from './claims.js';
export * from './operators.js';
export * from './sessions.js';
export * from './wallets.js';

export const identityContract = {
  createChallenge,
  register,
  recover,
  getProfile,
  getAgent,
  getAgents,
  authenticate,
  listApiKeys,
  createApiKey,
  getApiKey,
  updateApiKey,
  revokeApiKey,
  getBudget,
  updateBudget,
  openSession,
  getOidcProvider,
  beginOidcSignIn,
  openOidcSession,
  closeSession,
  claimAgent,
  createClaimCode,
  agreeToClaim,
  getOwnedAgent,
  listWallets,
  getWallet,
  linkWallet,
  updateWallet,
  openPayerAccount,
  findPayerWallet,
  findSettlementWallets,
  findPayoutWallets,
  findPaidSeller,
  findAccounts,
  inspectAccount,
  suspendAgent,
  revokeAnyKey,
  recordOperatorRead,
  ...operationsOf('identity'),
};
