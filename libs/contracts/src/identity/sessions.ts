import { z } from 'zod';
import { declareRefusal, defineRequest, defineSignal } from '../define.js';
import { sha256Hex, text, timestamp } from '../shared/index.js';
import { publicProfile } from './agents.js';
import { walletProof, walletProofRefusals } from './challenges.js';

/** `session_token` is shown here once and stored only as a hash. */
const openedSession = z.object({
  session_token: z.string(),
  account: publicProfile.extend({ wallet_address: z.string().nullable() }),
  expires_at: timestamp,
});

const linkRefusals = {
  link_needs_session: declareRefusal(
    'invalid',
    'Only a signed-in human has an account to add this sign-in to: send the session too',
    z.object({}),
    { nextAction: 'authenticate' },
  ),
  sign_in_of_another: declareRefusal(
    'conflict',
    'This wallet or login already signs another human in; sign in with it, or add another one',
    z.object({}),
    { nextAction: 'fix_request' },
  ),
};

/** Signs a human in with its wallet. The first sign-in creates the account. */
export const openSession = defineRequest({
  subject: 'rpc.identity.open-session.v1',
  input: walletProof.extend({
    link: z
      .boolean()
      .describe('Whether the wallet becomes one more sign-in of the human whose session is sent along.')
      .default(false),
  }),
  output: openedSession,
  refusals: {
    ...walletProofRefusals,
    ...linkRefusals,
    wallet_is_an_agents: declareRefusal(
      'conflict',
      'This wallet belongs to an agent; a human operator signs in with another wallet',
      z.object({}),
      { nextAction: 'fix_request' },
    ),
  },
});

const oidcRefusals = {
  oidc_not_configured: declareRefusal(
    'not-found',
    'This marketplace has no OpenID provider; sign in with a wallet',
    z.object({}),
    { nextAction: 'do_not_retry' },
  ),
  oidc_unavailable: declareRefusal(
    'unavailable',
    'The OpenID provider cannot be reached or answers incorrectly',
    z.object({ retry_after_seconds: z.number().int() }),
    { nextAction: 'retry_after_delay' },
  ),
};

/** The OpenID provider with which humans may sign in; null if there is none. */
export const getOidcProvider = defineRequest({
  subject: 'rpc.identity.get-oidc-provider.v1',
  repeatable: true,
  input: z.object({}),
  output: z.object({ issuer: z.string().nullable().describe('The issuer of the OpenID provider, if there is one.') }),
  refusals: {},
});

/** Begins a sign-in at the OpenID provider. With a session, the login becomes one more sign-in of its human. */
export const beginOidcSignIn = defineRequest({
  subject: 'rpc.identity.begin-oidc-sign-in.v1',
  input: z.object({}),
  output: z.object({
    authorization_url: z.url().describe('Where the browser goes.'),
    state: z.string().describe('What the provider must send back; the browser compares it.'),
    sign_in: z.string().describe('What the browser keeps to itself and sends with the code.'),
    expires_in: z.number().int(),
  }),
  refusals: oidcRefusals,
});

/** Signs a human in with the code that the provider gave its browser. The first sign-in creates the account. */
export const openOidcSession = defineRequest({
  subject: 'rpc.identity.open-oidc-session.v1',
  input: z.strictObject({
    sign_in: text(1, 2_048).describe('The field of that name of the answer that began the sign-in.'),
    code: text(1, 4_096).describe('The parameter of that name with which the provider sent the browser back.'),
    state: text(1, 128).describe('The parameter of that name with which the provider sent the browser back.'),
    iss: text(1, 2_048).optional().describe('The parameter of that name, if the provider sends one (RFC 9207).'),
  }),
  output: openedSession,
  refusals: {
    ...oidcRefusals,
    ...linkRefusals,
    sign_in_invalid: declareRefusal(
      'invalid',
      'The sign-in is expired, already used, not of this browser, or not what the provider confirms; begin again',
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
