import type { Scope } from '@market/contracts';
import { hashApiKey } from '@market/contracts/identity';
import { newId } from '@market/kernel';
import { sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { apiKeyPrefix, generateApiKey } from './api-key.js';
import { normalizeScopes } from './scopes.js';

const insert = sql(
  'api-keys.insert',
  `INSERT INTO api_keys (id, account_id, name, key_hash, key_prefix, scopes, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
   RETURNING id, name, key_prefix, scopes, created_at, expires_at`,
);

export interface ApiKeyRow {
  id: string;
  name: string;
  key_prefix: string;
  scopes: Scope[];
  created_at: Date;
  expires_at: Date | null;
}

export interface NewApiKey {
  accountId: string;
  name: string;
  scopes: readonly Scope[];
  expiresAt: Date | null;
}

export interface IssuedApiKey {
  /** The raw key, which exists nowhere once the answer is gone. */
  key: string;
  row: ApiKeyRow;
}

/** Creates every API key. */
@Injectable()
export class ApiKeys {
  async issue(tx: Tx, { accountId, name, scopes, expiresAt }: NewApiKey): Promise<IssuedApiKey> {
    const key = generateApiKey();
    const hash = Buffer.from(hashApiKey(key)!, 'hex');
    const values = [newId(), accountId, name, hash, apiKeyPrefix(key), normalizeScopes(scopes), expiresAt];
    const [row] = await tx.query<ApiKeyRow>(insert, values);
    return { key, row: row! };
  }
}
