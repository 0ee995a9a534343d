import type { InputOf, OutputOf } from '@market/contracts';
import { apiKeyChanged, updateApiKey } from '@market/contracts/identity';
import { HandleRequest, MessageBus, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable, Logger } from '@nestjs/common';
import { BudgetSetters } from '../budgets/budget-setters.js';
import { API_KEY_COLUMNS, toApiKeyView, type ListedApiKeyRow } from './api-keys.js';

const store = sql(
  'api-keys.store-budget',
  `UPDATE api_keys SET budget = $3 WHERE id = $1 AND account_id = $2 RETURNING ${API_KEY_COLUMNS}, encode(key_hash, 'hex') AS "keyHash"`,
);

/** Sets or removes what a key may spend. */
@Injectable()
export class UpdateApiKey {
  private readonly logger = new Logger('UpdateApiKey');

  constructor(
    private readonly database: Database,
    private readonly bus: MessageBus,
    private readonly setters: BudgetSetters,
  ) {}

  @HandleRequest(updateApiKey)
  execute(input: InputOf<typeof updateApiKey>, context: RequestContext): Promise<OutputOf<typeof updateApiKey>> {
    const { accountId, keyId, ownerId } = principalOf(context);
    const { key_id: changedId, budget } = input;
    return this.database.transaction(async (tx) => {
      await this.setters.lock(tx, context);
      const [stored] = await tx.query<ListedApiKeyRow & { keyHash: string }>(store, [changedId, accountId, budget]);
      if (!stored) throw refuse(updateApiKey, 'api_key_not_found', {});
      const { keyHash, ...row } = stored;
      tx.afterCommit(() => {
        this.bus.signal(apiKeyChanged, { keyHash });
        this.logger.log({
          msg: 'budget of key set',
          changed_key_id: changedId,
          key_id: keyId,
          owner_id: ownerId,
          budget,
        });
      });
      return toApiKeyView(row);
    });
  }
}
