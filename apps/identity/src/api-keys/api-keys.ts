import type { Scope } from '@market/contracts';
import { hashApiKey } from '@market/contracts/identity';
import { newId } from '@market/kernel';
import type { Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { apiKeyPrefix, generateApiKey } from './api-key.js';
import { ApiKeyEntity } from './infra/api-key.entity.js';
import { normalizeScopes } from './scopes.js';

export interface NewApiKey {
  accountId: string;
  name: string;
  scopes: readonly Scope[];
  expiresAt: Date | null;
}

export interface IssuedApiKey {
  /** The raw key, which exists nowhere once the answer is gone. */
  key: string;
  row: ApiKeyEntity;
}

/** Creates every API key. */
@Injectable()
export class ApiKeys {
  async issue(tx: Tx, { accountId, name, scopes, expiresAt }: NewApiKey): Promise<IssuedApiKey> {
    const key = generateApiKey();
    const row = tx.manager.create(ApiKeyEntity, {
      id: newId(),
      accountId,
      name,
      keyHash: Buffer.from(hashApiKey(key)!, 'hex'),
      keyPrefix: apiKeyPrefix(key),
      scopes: normalizeScopes(scopes),
      expiresAt,
    });
    await tx.manager.insert(ApiKeyEntity, row);
    return { key, row };
  }
}
