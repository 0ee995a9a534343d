import { z } from 'zod';
import { declareRefusal, defineRequest } from '../define.js';
import { id, text, wholeNumber } from '../shared/index.js';

export const challengePurpose = z.enum([
  'registration',
  'recovery',
  'claim',
  'wallet_link',
  'wallet_update',
  'session',
]);
export type ChallengePurpose = z.output<typeof challengePurpose>;

/** Distinguishes the two proofs of one request. */
const whichWallet = z.object({
  wallet_address: z
    .string()
    .meta({ examples: ['0x71C7656EC7ab88b098defB751B7401B5f6d8976F'] })
    .optional(),
});

/** The refusals of every operation that verifies a proof of a wallet. */
export const walletProofRefusals = {
  wallet_address_invalid: declareRefusal(
    'invalid',
    'wallet_address is neither an Ethereum nor a Solana address',
    z.object({}),
    { nextAction: 'fix_request' },
  ),
  challenge_invalid: declareRefusal(
    'invalid',
    'The nonce is unknown, expired, already used, or belongs to another wallet, account or purpose',
    whichWallet,
    { nextAction: 'request_new_challenge' },
  ),
  signature_invalid: declareRefusal(
    'invalid',
    'The signature does not prove ownership of the wallet for this message',
    whichWallet,
    { nextAction: 'request_new_challenge' },
  ),
  contract_wallet_unverifiable: declareRefusal(
    'unavailable',
    'The chain of this contract wallet cannot be reached; wallets with a private key of their own are not affected',
    z.object({ retry_after_seconds: z.number().int() }),
    { nextAction: 'request_new_challenge' },
  ),
};

/** The refusals of operations that also verify a proof of work. */
export const workProofRefusals = {
  ...walletProofRefusals,
  proof_of_work_invalid: declareRefusal(
    'invalid',
    'pow_nonce does not solve the challenge: SHA-256(challenge + pow_nonce) must start with the given number of hex zeros',
    z.object({ difficulty: z.number().int() }),
    { nextAction: 'solve_proof_of_work' },
  ),
};

/** The signature of a contract wallet that is not deployed yet contains its deployment. */
export const walletProof = z.strictObject({
  wallet_address: text(1, 128).describe('The address the challenge was made for.'),
  signature: text(1, 16_384).describe(
    'The message of the challenge, signed: EIP-191 hex (EIP-1271 or EIP-6492 for contract wallets), or ed25519 in base58 or base64.',
  ),
  nonce: text(1, 128).describe('The nonce of the challenge.'),
});

export const workProof = walletProof.extend({
  pow_nonce: text(1, 64).describe('The solution of the proof-of-work puzzle.'),
});

/**
 * A challenge of purpose `claim` is requested by the human who claims, or by the agent with the code of that human, and
 * its message names both accounts. The message for managing wallets names the account of the caller, if there is one.
 */
export const createChallenge = defineRequest({
  subject: 'rpc.identity.create-challenge.v1',
  input: z.object({
    wallet_address: text(1, 128).describe('Ethereum or Solana address.'),
    purpose: challengePurpose.describe('What the challenge will be good for.').default('registration'),
    chain_id: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional().describe('EVM chain to name in the message.'),
    agent_id: id.optional().describe('The agent the signature is about: required to claim it.'),
    claim_code: text(1, 32)
      .optional()
      .describe('With the key of an agent: the code of the human who claims it. It is good for one challenge.'),
  }),
  output: z.object({
    message: z.string(),
    nonce: z.string(),
    expires_in: z.number().int(),
    pow: z.object({ challenge: z.string(), difficulty: z.number().int(), algorithm: z.literal('sha256') }),
  }),
  refusals: {
    wallet_address_invalid: walletProofRefusals.wallet_address_invalid,
    claim_needs_agent: declareRefusal('invalid', 'A claim challenge must name the agent: send agent_id', z.object({}), {
      nextAction: 'fix_request',
    }),
    claim_needs_session: declareRefusal(
      'invalid',
      'A claim challenge must name the human who claims the agent: send the session too',
      z.object({}),
      { nextAction: 'authenticate' },
    ),
    claim_code_needs_key: declareRefusal(
      'invalid',
      'A claim code is used by the agent that it was made for: send its API key too',
      z.object({}),
      { nextAction: 'authenticate' },
    ),
    claim_code_invalid: declareRefusal(
      'invalid',
      'The claim code is unknown, expired, already used, or made for another agent: let the human make a new one',
      z.object({}),
      { nextAction: 'fix_request' },
    ),
  },
});
