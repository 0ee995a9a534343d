import type { BudgetFields, OutputOf, Scope } from '@market/contracts';
import { hashApiKey, type getApiKey } from '@market/contracts/identity';
import { newId } from '@market/kernel';
import { sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { apiKeyPrefix, generateApiKey } from './api-key.js';
import { normalizeScopes } from './scopes.js';

const insert = sql(
  'api-keys.insert',
  `INSERT INTO api_keys (id, account_id, name, key_hash, key_prefix, scopes, expires_at, budget) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
   RETURNING id, name, key_prefix, scopes, created_at, expires_at, budget`,
);

interface ApiKeyRow {
  id: string;
  name: string;
  key_prefix: string;
  scopes: Scope[];
  created_at: Date;
  expires_at: Date | null;
  budget: BudgetFields | null;
}

export const API_KEY_COLUMNS = `id, name, key_prefix, scopes,
  revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) AS is_active,
  created_at, last_used_at, expires_at, budget`;

export type ListedApiKeyRow = ApiKeyRow & { is_active: boolean; last_used_at: Date | null };

export const toApiKeyView = (row: ListedApiKeyRow): OutputOf<typeof getApiKey> => ({
  ...row,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at?.toISOString() ?? null,
  expires_at: row.expires_at?.toISOString() ?? null,
});

export interface NewApiKey {
  accountId: string;
  name: string;
  scopes: readonly Scope[];
  expiresAt: Date | null;
  budget?: BudgetFields;
}

export interface IssuedApiKey {
  /** The raw key, which is stored nowhere. */
  key: string;
  row: ApiKeyRow;
}

/** Creates every API key. */
@Injectable()
export class ApiKeys {
  async issue(tx: Tx, { accountId, name, scopes, expiresAt, budget }: NewApiKey): Promise<IssuedApiKey> {
    const key = generateApiKey();
    const hash = Buffer.from(hashApiKey(key)!, 'hex');
    const values = [newId(), accountId, name, hash, apiKeyPrefix(key), normalizeScopes(scopes), expiresAt, budget];
    const [row] = await tx.query<ApiKeyRow>(insert, values);
    return { key, row: row! };
  }
}
