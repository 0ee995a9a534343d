import { z } from 'zod';
import { declareRefusal, defineRequest } from '../define.js';
import { id } from '../shared/index.js';

export const challengePurpose = z.enum(['registration', 'recovery', 'claim', 'wallet_link', 'wallet_update', 'session']);
export type ChallengePurpose = z.output<typeof challengePurpose>;

/** What every operation that proves a wallet may refuse. */
export const walletProofRefusals = {
  wallet_address_invalid: declareRefusal('invalid', 'wallet_address is neither an Ethereum nor a Solana address', z.object({}), { nextAction: 'fix_request' }),
  challenge_invalid: declareRefusal('invalid', 'The nonce is unknown, expired, already used, or belongs to another wallet or purpose', z.object({}), { nextAction: 'request_new_challenge' }),
  signature_invalid: declareRefusal('invalid', 'The signature does not prove ownership of the wallet for this message', z.object({}), { nextAction: 'request_new_challenge' }),
};

/** And what those refuse that ask for work as well. */
export const workProofRefusals = {
  ...walletProofRefusals,
  proof_of_work_invalid: declareRefusal('invalid', 'pow_nonce does not solve the challenge: SHA-256(challenge + pow_nonce) must start with the given number of hex zeros', z.object({ difficulty: z.number().int() }), { nextAction: 'solve_proof_of_work' }),
};

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
    too_many_challenges: declareRefusal('rate-limited', 'Too many unused challenges for this wallet; use one of them or wait until they expire', z.object({ retry_after_seconds: z.number().int() }), { nextAction: 'retry_after_delay' }),
  },
});
