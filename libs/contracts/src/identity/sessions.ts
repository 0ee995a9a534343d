import { z } from 'zod';
import { declareRefusal, defineRequest, defineSignal } from '../define.js';
import { sha256Hex, timestamp } from '../shared/index.js';
import { publicProfile } from './agents.js';
import { walletProof, walletProofRefusals } from './challenges.js';

/** Signs a human in with its wallet. The first sign-in creates the account. */
export const openSession = defineRequest({
  subject: 'rpc.identity.open-session.v1',
  input: walletProof,
  /** `session_token` is shown here once and stored only as a hash. */
  output: z.object({
    session_token: z.string(),
    account: publicProfile.extend({ wallet_address: z.string() }),
    expires_at: timestamp,
  }),
  refusals: {
    ...walletProofRefusals,
    wallet_is_an_agents: declareRefusal(
      'conflict',
      'This wallet belongs to an agent; a human operator signs in with another wallet',
      z.object({}),
      { nextAction: 'fix_request' },
    ),
  },
});

/** Ends the session of the caller. */
export const closeSession = defineRequest({
  subject: 'rpc.identity.close-session.v1',
  input: z.object({}),
  output: z.object({ ended: z.literal(true) }),
  refusals: {},
});

export const sessionEnded = defineSignal({
  subject: 'sig.identity.session-ended.v1',
  payload: z.object({ keyHash: sha256Hex }),
});
