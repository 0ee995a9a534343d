import { z } from 'zod';
import { declareRefusal, defineRequest } from '../define.js';
import { authenticate } from './api-keys.js';
import { id, principal } from '../shared/index.js';
import { walletProof, walletProofRefusals } from './challenges.js';

const { challenge_invalid, signature_invalid, contract_wallet_unverifiable } = walletProofRefusals;

/** The refusals of a claim that a wallet of the agent signed, whoever sends its signature. */
const claimRefusals = {
  challenge_invalid,
  contract_wallet_unverifiable,
  agent_already_claimed: declareRefusal('conflict', 'This agent has already been claimed', z.object({})),
  claim_of_another_agent: declareRefusal('forbidden', 'The challenge names another agent', z.object({}), {
    nextAction: 'request_new_challenge',
  }),
  wallet_not_of_agent: declareRefusal(
    'forbidden',
    'The challenge is for a wallet that is no active wallet of this agent with the capability login',
    z.object({}),
    { nextAction: 'request_new_challenge' },
  ),
  /** The interface answers an unproven claim with 403. */
  signature_invalid: { ...signature_invalid, kind: 'forbidden' as const },
};
const agent_not_found = declareRefusal('not-found', 'No such agent', z.object({}));
const signedClaim = walletProof.omit({ wallet_address: true });
const claim = z.object({ agent_id: id, claimed_by: id, status: z.literal('claimed') });

/**
 * The caller, a human, claims an agent, whose wallet signed a challenge of purpose `claim`. The first claim is final.
 */
export const claimAgent = defineRequest({
  subject: 'rpc.identity.claim-agent.v1',
  input: signedClaim.extend({ agent_id: id }),
  output: claim,
  refusals: {
    ...claimRefusals,
    agent_not_found,
    claim_of_another_human: declareRefusal('forbidden', 'The challenge names another human', z.object({}), {
      nextAction: 'request_new_challenge',
    }),
  },
});

/**
 * The caller, a human, begins to claim an agent, which finishes it where its wallet is: with the code it gets a
 * challenge that names both.
 */
export const createClaimCode = defineRequest({
  subject: 'rpc.identity.create-claim-code.v1',
  input: z.object({ agent_id: id }),
  output: z.object({
    code: z.string().describe('What `market claim` is given where the wallet of the agent is.'),
    expires_in: z.number().int(),
    agent: z
      .object({ id: id.describe('Names the agent.'), display_name: z.string().nullable() })
      .describe('The agent that the code is for.'),
  }),
  refusals: { agent_not_found, agent_already_claimed: claimRefusals.agent_already_claimed },
});

/** The caller, an agent, lets itself be claimed by the human that the challenge names. */
export const agreeToClaim = defineRequest({
  subject: 'rpc.identity.agree-to-claim.v1',
  input: signedClaim,
  output: claim,
  refusals: claimRefusals,
});

/**
 * For the edge: an agent that the caller, a human, has claimed. The agent of another human is reported as not found.
 */
export const getOwnedAgent = defineRequest({
  subject: 'rpc.identity.get-owned-agent.v1',
  repeatable: true,
  input: z.object({ agentId: id }),
  output: principal
    .pick({ accountId: true, accountType: true, role: true, displayName: true })
    .extend({ isSuspended: z.boolean() }),
  refusals: {
    agent_not_found: declareRefusal('not-found', 'agent_id names no agent that you have claimed', z.object({}), {
      nextAction: 'send_agent_id',
    }),
    /** The edge says so of what the owner would change; it may still look. */
    account_suspended: authenticate.refusals.account_suspended,
  },
});
