import { z } from 'zod';
import { declareRefusal, defineRequest } from '../define.js';
import { id } from '../shared/index.js';

export const challengePurpose = z.enum([
  'registration',
  'recovery',
  'claim',
  'wallet_link',
  'wallet_update',
  'session',
]);
export type ChallengePurpose = z.output<typeof challengePurpose>;

/** Tells the two proofs of one request apart. */
const whichWallet = z.object({
  wallet_address: z
    .string()
    .meta({ examples: ['0x71C7656EC7ab88b098defB751B7401B5f6d8976F'] })
    .optional(),
});

/** What every operation that proves a wallet may refuse. */
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
    'The chain of this contract wallet is out of reach; wallets with a private key of their own are not affected',
    z.object({ retry_after_seconds: z.number().int() }),
    { nextAction: 'request_new_challenge' },
  ),
};

/** And what those refuse that ask for work as well. */
export const workProofRefusals = {
  ...walletProofRefusals,
  proof_of_work_invalid: declareRefusal(
    'invalid',
    'pow_nonce does not solve the challenge: SHA-256(challenge + pow_nonce) must start with the given number of hex zeros',
    z.object({ difficulty: z.number().int() }),
    { nextAction: 'solve_proof_of_work' },
  ),
};

/** What of a wallet proof crosses the bus. */
export const walletProof = z.object({ walletAddress: z.string(), signature: z.string(), nonce: z.string() });

/** `claim` is asked for by the human who claims, and its message names both accounts; one for managing wallets names the account that asks, if one does. */
export const createChallenge = defineRequest({
  subject: 'rpc.identity.create-challenge.v1',
  input: z.object({
    walletAddress: z.string(),
    purpose: challengePurpose.default('registration'),
    chainId: z.number().int().positive().optional(),
    agentId: id.optional(),
  }),
  output: z.object({
    message: z.string(),
    nonce: z.string(),
    expires_in: z.number().int(),
    pow: z.object({ challenge: z.string(), difficulty: z.number().int(), algorithm: z.literal('sha256') }),
  }),
  refusals: {
    wallet_address_invalid: walletProofRefusals.wallet_address_invalid,
    claim_needs_agent: declareRefusal('invalid', 'A claim challenge names the agent: send agent_id', z.object({}), {
      nextAction: 'fix_request',
    }),
    claim_needs_session: declareRefusal(
      'invalid',
      'A claim challenge names the human who claims: send the session along',
      z.object({}),
      { nextAction: 'authenticate' },
    ),
  },
});
