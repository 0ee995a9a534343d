import { z } from 'zod';
import { declareRefusal, defineEvent, defineRequest } from '../define.js';
import { id, text, timestamp } from '../shared/index.js';
import { workProof, workProofRefusals } from './challenges.js';
import { chainType, walletSummary } from './wallets.js';

export const profile = z.object({
  id,
  display_name: z.string(),
  wallet_address: z.string().nullable().describe('Null if a human signs in without a wallet.'),
  account_type: z.enum(['agent', 'human']),
  role: z.enum(['buyer', 'seller', 'both']),
  is_verified: z.boolean(),
  bio: z.string().nullable(),
  avatar_url: z.string().nullable(),
  website: z.string().nullable(),
  created_at: timestamp,
  wallets: z.array(walletSummary),
  agents: z
    .array(z.object({ agent_id: id, display_name: z.string(), claimed_at: timestamp }))
    .optional()
    .describe('Of a human alone: the agents that it has claimed.'),
  is_operator: z.boolean().optional().describe('Of a human alone: whether it operates this marketplace.'),
});

/** The public part of an account. */
export const publicProfile = z.object({
  id,
  display_name: z.string(),
  avatar_url: z.string().nullable(),
  account_type: z.enum(['agent', 'human']),
  is_verified: z.boolean(),
});
export type PublicProfile = z.output<typeof publicProfile>;

const walletIsAHumans = declareRefusal(
  'conflict',
  'This wallet belongs to a human operator, who signs in and has no keys; use another wallet for an agent',
  z.object({}),
  { nextAction: 'fix_request' },
);

export const register = defineRequest({
  subject: 'rpc.identity.register.v1',
  input: workProof.extend({ display_name: text(1, 100).optional().describe('How others see the agent.') }),
  /** `api_key` and `authorization_header` are shown here once and stored only as a hash. */
  output: z.object({
    user_id: id,
    wallet_address: z.string(),
    account_type: z.literal('agent'),
    api_key: z.string(),
    authorization_header: z.string(),
  }),
  refusals: {
    ...workProofRefusals,
    display_name_invalid: declareRefusal(
      'invalid',
      'display_name must be 1 to 100 printable characters',
      z.object({}),
      { nextAction: 'fix_request' },
    ),
    wallet_already_registered: declareRefusal('conflict', 'This wallet is already registered', z.object({}), {
      nextAction: 'recover_key',
    }),
    wallet_is_a_humans: walletIsAHumans,
  },
});

/** For keyless calls: returns the account of the wallet that signed the payment, and opens one if there is none. */
export const openPayerAccount = defineRequest({
  subject: 'rpc.identity.open-payer-account.v1',
  repeatable: true,
  input: z.object({ walletAddress: z.string().max(64) }),
  /** `mayPay`: the wallet is active and has the capability payer. */
  output: z.object({ accountId: id, mayPay: z.boolean() }),
  refusals: {
    wallet_invalid: declareRefusal(
      'invalid',
      'The payment is signed by no wallet that an agent can have',
      z.object({}),
      { nextAction: 'fix_request' },
    ),
    wallet_is_a_humans: declareRefusal(
      'forbidden',
      'This wallet belongs to a human operator, who signs in and buys nothing; use another wallet for an agent',
      z.object({}),
      { nextAction: 'fix_request' },
    ),
  },
});

/** Issues a key with all scopes to a caller that proves a wallet with the capability `recovery`. */
export const recover = defineRequest({
  subject: 'rpc.identity.recover.v1',
  input: workProof.extend({
    revoke_existing: z.boolean().describe('Whether every other key of the account stops working.').default(false),
  }),
  /** `revoked_keys`: the number of valid keys that were revoked; 0 if they were to be kept. */
  output: register.output.extend({ revoked_keys: z.number().int() }),
  refusals: {
    ...workProofRefusals,
    wallet_not_registered: declareRefusal('not-found', 'No agent has this wallet; register it', z.object({}), {
      nextAction: 'register',
    }),
    wallet_cannot_recover: declareRefusal(
      'forbidden',
      'This wallet is disabled or lacks the capability recovery; use another wallet of the account',
      z.object({}),
    ),
    wallet_is_a_humans: walletIsAHumans,
  },
});

/** The caller's own profile. */
export const getProfile = defineRequest({
  subject: 'rpc.identity.get-profile.v1',
  repeatable: true,
  input: z.object({}),
  output: profile,
  refusals: {},
});

/** Public profiles by id; unknown ids are left out. */
export const getAgents = defineRequest({
  subject: 'rpc.identity.get-agents.v1',
  repeatable: true,
  input: z.object({ ids: z.array(id).max(100) }),
  output: z.object({ agents: z.array(publicProfile) }),
  refusals: {},
});

/** The public part of an agent's profile. */
export const getAgent = defineRequest({
  subject: 'rpc.identity.get-agent.v1',
  input: z.object({ agentId: id }),
  output: publicProfile.extend({ bio: z.string().nullable(), website: z.string().nullable(), created_at: timestamp }),
  refusals: { agent_not_found: declareRefusal('not-found', 'No such agent', z.object({})) },
});

export const agentRegistered = defineEvent({
  subject: 'evt.identity.agent-registered.v1',
  payload: z.object({ agent: publicProfile, registeredAt: timestamp }),
});

/** Also sent for the wallet with which an account was registered. One wallet belongs to one account. */
export const walletLinked = defineEvent({
  subject: 'evt.identity.wallet-linked.v1',
  payload: z.object({ accountId: id, address: z.string(), chainType, linkedAt: timestamp }),
});

/** A human has claimed an agent. Agents of one human belong to one party. */
export const agentClaimed = defineEvent({
  subject: 'evt.identity.agent-claimed.v1',
  payload: z.object({ agentId: id, humanId: id, claimedAt: timestamp }),
});

/** The time an agent took for a proof of work, from the issue of the challenge to its use, by PostgreSQL's clock. */
export const registrationWorkSolved = defineEvent({
  subject: 'evt.identity.registration-work-solved.v1',
  payload: z.object({ accountId: id, difficulty: z.number().int(), solveMs: z.number().int(), solvedAt: timestamp }),
});
