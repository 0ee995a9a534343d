import { createChallenge } from './challenges.js';
import { getAgents, getProfile, openPayerAccount, recover, register } from './agents.js';
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
import { claimAgent, getOwnedAgent } from './claims.js';
import { closeSession, openSession } from './sessions.js';
import { findPayerWallet, findSettlementWallets, getWallet, linkWallet, listWallets, updateWallet } from './wallets.js';

export * from './agents.js';
export * from './credential-format.js';
export * from './api-keys.js';
export * from './challenges.js';
export * from './claims.js';
export * from './sessions.js';
export * from './wallets.js';

export const identityContract = {
  createChallenge,
  register,
  recover,
  getProfile,
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
  closeSession,
  claimAgent,
  getOwnedAgent,
  listWallets,
  getWallet,
  linkWallet,
  updateWallet,
  openPayerAccount,
  findPayerWallet,
  findSettlementWallets,
};
