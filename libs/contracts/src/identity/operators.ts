import { z } from 'zod';
import { declareRefusal, defineEvent, defineRequest } from '../define.js';
import { accountType, id, text, timestamp } from '../shared/index.js';
import { profile } from './agents.js';
import { apiKeyView } from './api-keys.js';

/** The reason of an operator's action: stored, and shown only to operators. */
export const operatorsReason = text(1, 1_000).describe('Why; kept, and shown to operators alone.');

const agentNotFound = declareRefusal('not-found', 'No such agent', z.object({}));

/** An account as operators find it. */
export const accountSummary = z.object({
  id,
  display_name: z.string(),
  account_type: accountType,
  wallet_address: z.string().nullable(),
  is_suspended: z.boolean(),
  created_at: timestamp,
});

/** Finds accounts by id, wallet, id or prefix of an API key, or the beginning of a name: at most 20. */
export const findAccounts = defineRequest({
  subject: 'rpc.identity.find-accounts.v1',
  repeatable: true,
  input: z.object({ query: z.string().max(200) }),
  output: z.object({ accounts: z.array(accountSummary) }),
  refusals: {},
});

/** An account with its wallets and keys, for operators. */
export const inspectAccount = defineRequest({
  subject: 'rpc.identity.inspect-account.v1',
  repeatable: true,
  input: z.object({ accountId: id }),
  output: accountSummary.extend({
    suspended_at: timestamp.nullable(),
    claimed_by: id.nullable(),
    wallets: profile.shape.wallets,
    keys: z.array(apiKeyView),
    agents: profile.shape.agents,
  }),
  refusals: { agent_not_found: agentNotFound },
});

/**
 * Suspends or releases an agent. The keys of a suspended agent are refused, its wallets cannot pay, and its listings
 * are not for sale.
 */
export const suspendAgent = defineRequest({
  subject: 'rpc.identity.suspend-agent.v1',
  input: z.object({ agentId: id, suspended: z.boolean(), reason: z.string().nullable() }),
  /** `changed` is false if the agent was in that state already. */
  output: z.object({ id, display_name: z.string(), is_suspended: z.boolean(), changed: z.boolean() }),
  refusals: { agent_not_found: agentNotFound },
});

/** Revokes an API key of any account, for an operator. */
export const revokeAnyKey = defineRequest({
  subject: 'rpc.identity.revoke-any-key.v1',
  input: z.object({ keyId: id, reason: z.string().nullable() }),
  output: z.object({ id, revoked: z.literal(true), changed: z.boolean() }),
  refusals: { api_key_not_found: declareRefusal('not-found', 'No such API key', z.object({})) },
});

/** Records what an operator reads, before it is shown. */
export const recordOperatorRead = defineRequest({
  subject: 'rpc.identity.record-operator-read.v1',
  input: z.object({ command: z.string().max(50), subject: z.string().max(200) }),
  output: z.object({}),
  refusals: {},
});

/** A consumer keeps the highest `version` of an agent. */
export const agentSuspensionChanged = defineEvent({
  subject: 'evt.identity.agent-suspension-changed.v1',
  payload: z.object({ agentId: id, version: z.number().int(), isSuspended: z.boolean(), changedAt: timestamp }),
});
