import { updateBudget } from '@market/contracts/identity';
import { principalOf, refuse, type RequestContext } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';

// Takes the same lock of the account as the creation of a key, so that claims, budgets and new keys are serialized.
const lockKey = sql(
  'budgets.lock-key',
  `WITH account AS MATERIALIZED (SELECT id FROM accounts WHERE id = $2 FOR NO KEY UPDATE)
   SELECT k.budget IS NOT NULL AS has_budget FROM account JOIN api_keys k ON k.account_id = account.id
   WHERE k.id = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) FOR SHARE OF k`,
);
const lockSession = sql(
  'budgets.lock-session',
  `WITH account AS MATERIALIZED (SELECT id FROM accounts WHERE id = $2 FOR NO KEY UPDATE)
   SELECT false AS has_budget FROM account JOIN claims c ON c.agent_id = account.id JOIN sessions s ON s.account_id = c.human_id
   WHERE s.id = $1 AND s.expires_at > now() FOR SHARE OF s`,
);

/**
 * Checks who may set the budget of a key or an agent: a valid key without a budget of its own, or the owner's session.
 */
@Injectable()
export class BudgetSetters {
  /** @throws Refusal `key_invalid`, `key_has_budget`. */
  async lock(tx: Tx, context: RequestContext): Promise<void> {
    const { keyId, accountId, ownerId } = principalOf(context);
    const [setter] = await tx.query<{ has_budget: boolean }>(ownerId ? lockSession : lockKey, [keyId, accountId]);
    if (!setter) throw refuse(updateBudget, 'key_invalid', {});
    if (setter.has_budget) throw refuse(updateBudget, 'key_has_budget', {});
  }
}
