import type { InputOf, OutputOf } from '@market/contracts';
import { getApiKey, listApiKeys } from '@market/contracts/identity';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { API_KEY_COLUMNS, toApiKeyView, type ListedApiKeyRow } from './api-keys.js';

// The limit keeps answers small; valid keys come before invalid ones.
const list = sql(
  'api-keys.list',
  `SELECT ${API_KEY_COLUMNS} FROM api_keys WHERE account_id = $1
   ORDER BY is_active DESC, id DESC LIMIT 1000`,
);
const find = sql('api-keys.find', `SELECT ${API_KEY_COLUMNS} FROM api_keys WHERE account_id = $1 AND id = $2`);

@Injectable()
export class ReadApiKeys {
  constructor(private readonly database: Database) {}

  @HandleRequest(listApiKeys)
  list(_input: InputOf<typeof listApiKeys>, context: RequestContext): Promise<OutputOf<typeof listApiKeys>> {
    return this.listOf(principalOf(context).accountId);
  }

  async listOf(accountId: string): Promise<OutputOf<typeof listApiKeys>> {
    const rows = await this.database.query<ListedApiKeyRow>(list, [accountId]);
    return { keys: rows.map(toApiKeyView) };
  }

  @HandleRequest(getApiKey)
  async get(
    { key_id: keyId }: InputOf<typeof getApiKey>,
    context: RequestContext,
  ): Promise<OutputOf<typeof getApiKey>> {
    const [row] = await this.database.query<ListedApiKeyRow>(find, [principalOf(context).accountId, keyId]);
    if (!row) throw refuse(getApiKey, 'api_key_not_found', {});
    return toApiKeyView(row);
  }
}
