import { z } from 'zod';
import { declareRefusal, defineRequest, defineSignal } from '../define.js';
import { budgetFields, id, instant, principal, scope, sha256Hex, someOf, text, timestamp } from '../shared/index.js';

const keyInvalid = declareRefusal('unauthenticated', 'The API key is unknown, revoked or expired', z.object({}), {
  nextAction: 'recover_key',
});

export const credentialKind = z.enum(['api_key', 'session']);
export type CredentialKind = z.output<typeof credentialKind>;

/** Resolves the hash of a key or of a human's session. The text of the key never leaves the edge. */
export const authenticate = defineRequest({
  subject: 'rpc.identity.authenticate.v1',
  repeatable: true,
  input: z.object({ keyHash: sha256Hex, kind: credentialKind.default('api_key') }),
  output: principal,
  refusals: {
    key_invalid: keyInvalid,
    account_suspended: declareRefusal(
      'forbidden',
      'This account is suspended by an operator of the marketplace',
      z.object({}),
      { nextAction: 'contact_operator' },
    ),
  },
});

export const apiKeyView = z.object({
  id,
  name: z.string(),
  key_prefix: z.string(),
  scopes: z.array(scope),
  is_active: z.boolean(),
  created_at: timestamp,
  last_used_at: timestamp.nullable(),
  expires_at: timestamp.nullable(),
  budget: budgetFields.nullable().describe("What the key may spend; null where only its agent's budget says."),
});

/** A key with a budget could bypass its limits by creating keys or changing budgets. */
const keyHasBudget = declareRefusal(
  'forbidden',
  "A key with a budget cannot create keys or set budgets; use a key without a budget, or the owner's session",
  z.object({}),
  { nextAction: 'change_budget' },
);

export const listApiKeys = defineRequest({
  subject: 'rpc.identity.list-api-keys.v1',
  repeatable: true,
  input: z.object({}),
  output: z.object({ keys: z.array(apiKeyView) }),
  refusals: {},
});

export const createApiKey = defineRequest({
  subject: 'rpc.identity.create-api-key.v1',
  answersSecret: true,
  input: z.object({
    name: text(1, 100).describe('How you tell your keys apart.'),
    scopes: someOf(scope).describe('What the key may do; no more than the key that creates it; an owner may give any.'),
    expires_at: instant.optional().describe('When the key stops working; never when left out.'),
    budget: budgetFields.optional().describe('What the key may spend; no limit of its own when left out.'),
  }),
  /** `key` is shown here once. If no end is given, the new key gets the end of the key that creates it. */
  output: apiKeyView.omit({ last_used_at: true }).extend({ key: z.string() }),
  refusals: {
    /** The creating key, or the owner's session, ended since the edge last saw it. */
    key_invalid: keyInvalid,
    name_invalid: declareRefusal('invalid', 'name must be 1 to 100 printable characters', z.object({}), {
      nextAction: 'fix_request',
    }),
    scope_not_held: declareRefusal(
      'forbidden',
      'A key cannot create a key with more scopes than it has',
      z.object({ missing_scopes: z.array(scope) }),
      { nextAction: 'create_key_with_scope' },
    ),
    too_many_keys: declareRefusal(
      'conflict',
      'This account has the maximum number of active API keys; revoke one to create another',
      z.object({ maximum: z.number().int() }),
      { nextAction: 'revoke_key' },
    ),
    key_has_budget: keyHasBudget,
    expiry_beyond_own: declareRefusal(
      'forbidden',
      'A key cannot create a key that outlives it',
      z.object({ latest_expires_at: timestamp }),
      { nextAction: 'fix_request' },
    ),
    expiry_invalid: declareRefusal('invalid', 'expires_at must be an ISO 8601 timestamp in the future', z.object({}), {
      nextAction: 'fix_request',
    }),
  },
});

const apiKeyNotFound = declareRefusal('not-found', 'No such API key', z.object({}));

/** One key of the account. */
export const getApiKey = defineRequest({
  subject: 'rpc.identity.get-api-key.v1',
  repeatable: true,
  input: z.object({ key_id: id }),
  output: apiKeyView,
  refusals: { api_key_not_found: apiKeyNotFound },
});

/** Sets or removes the budget of a key. */
export const updateApiKey = defineRequest({
  subject: 'rpc.identity.update-api-key.v1',
  input: z.object({
    key_id: id,
    budget: budgetFields.nullable().describe('All limits from now on, in place of those before; null removes them.'),
  }),
  output: apiKeyView,
  refusals: { key_invalid: keyInvalid, api_key_not_found: apiKeyNotFound, key_has_budget: keyHasBudget },
});

/** The budget of the whole agent, which limits all its keys together. */
export const getBudget = defineRequest({
  subject: 'rpc.identity.get-budget.v1',
  repeatable: true,
  input: z.object({}),
  output: z.object({ budget: budgetFields.nullable() }),
  refusals: {},
});

export const updateBudget = defineRequest({
  subject: 'rpc.identity.update-budget.v1',
  input: z.object({
    budget: budgetFields.nullable().describe('All limits from now on, in place of those before; null removes them.'),
  }),
  output: getBudget.output,
  refusals: {
    key_invalid: keyInvalid,
    key_has_budget: keyHasBudget,
    budget_is_the_owners: declareRefusal(
      'forbidden',
      'Only the human who claimed this agent sets its budget, with a session',
      z.object({}),
      { nextAction: 'change_budget' },
    ),
  },
});

export const revokeApiKey = defineRequest({
  subject: 'rpc.identity.revoke-api-key.v1',
  input: z.object({ key_id: id }),
  output: z.object({ id, revoked: z.literal(true) }),
  refusals: {
    api_key_not_found: apiKeyNotFound,
  },
});

export const apiKeyRevoked = defineSignal({
  subject: 'sig.identity.api-key-revoked.v1',
  payload: z.object({ keyHash: sha256Hex }),
});

/** The budget of a key or of its agent has changed. */
export const apiKeyChanged = defineSignal({
  subject: 'sig.identity.api-key-changed.v1',
  payload: z.object({ keyHash: sha256Hex }),
});
