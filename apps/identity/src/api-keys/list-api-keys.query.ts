import type { OutputOf } from '@market/contracts';
import type { listApiKeys } from '@market/contracts/identity';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import type { ApiKeyRow } from './api-keys.js';

type ListedRow = ApiKeyRow & { is_active: boolean; last_used_at: Date | null };

// The bound keeps an answer small whatever an account did; keys that still work come before it.
const list = sql(
  'api-keys.list',
  `SELECT id, name, key_prefix, scopes, revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) AS is_active, created_at, last_used_at, expires_at
   FROM api_keys WHERE account_id = $1
   ORDER BY is_active DESC, id DESC LIMIT 1000`,
);

@Injectable()
export class ListApiKeys {
  constructor(private readonly database: Database) {}

  async execute(accountId: string): Promise<OutputOf<typeof listApiKeys>> {
    const rows = await this.database.query<ListedRow>(list, [accountId]);
    return {
      keys: rows.map((row) => ({
        ...row,
        created_at: row.created_at.toISOString(),
        last_used_at: row.last_used_at?.toISOString() ?? null,
        expires_at: row.expires_at?.toISOString() ?? null,
      })),
    };
  }
}
