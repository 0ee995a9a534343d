import type { BudgetFields, InputOf, OutputOf } from '@market/contracts';
import { apiKeyChanged, updateBudget } from '@market/contracts/identity';
import { HandleRequest, MessageBus, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable, Logger } from '@nestjs/common';
import { BudgetSetters } from './budget-setters.js';

const findOwner = sql('budgets.find-owner', 'SELECT human_id FROM claims WHERE agent_id = $1');
const store = sql('budgets.store-of-account', 'UPDATE accounts SET budget = $2 WHERE id = $1 RETURNING budget');
const keysThatWork = sql(
  'budgets.keys-of-account',
  `SELECT encode(key_hash, 'hex') AS "keyHash" FROM api_keys
   WHERE account_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
);

/**
 * Sets or removes the budget of all keys of an agent together. Once the agent is claimed, only its owner may do this.
 */
@Injectable()
export class UpdateBudget {
  private readonly logger = new Logger('UpdateBudget');

  constructor(
    private readonly database: Database,
    private readonly bus: MessageBus,
    private readonly setters: BudgetSetters,
  ) {}

  @HandleRequest(updateBudget)
  execute({ budget }: InputOf<typeof updateBudget>, context: RequestContext): Promise<OutputOf<typeof updateBudget>> {
    const { accountId, keyId, ownerId } = principalOf(context);
    return this.database.transaction(async (tx) => {
      await this.setters.lock(tx, context);
      const [owner] = await tx.query(findOwner, [accountId]);
      if (owner && !ownerId) throw refuse(updateBudget, 'budget_is_the_owners', {});
      const [stored] = await tx.query<{ budget: BudgetFields | null }>(store, [accountId, budget]);
      const keys = await tx.query<{ keyHash: string }>(keysThatWork, [accountId]);
      tx.afterCommit(() => {
        for (const key of keys) this.bus.signal(apiKeyChanged, key);
        this.logger.log({
          msg: 'budget of agent set',
          account_id: accountId,
          key_id: keyId,
          owner_id: ownerId,
          budget,
        });
      });
      return { budget: stored!.budget };
    });
  }
}
