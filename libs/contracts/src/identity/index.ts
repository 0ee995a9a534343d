import { createChallenge } from './challenges.js';
import { getAgents, getProfile, register } from './agents.js';
import { authenticate, createApiKey, listApiKeys, revokeApiKey } from './api-keys.js';
import { closeSession, openSession } from './sessions.js';

export * from './agents.js';
export * from './credential-format.js';
export * from './api-keys.js';
export * from './challenges.js';
export * from './sessions.js';

export const identityContract = { createChallenge, register, getProfile, getAgents, authenticate, listApiKeys, createApiKey, revokeApiKey, openSession, closeSession };
