import type { InputOf, OutputOf, Scope } from '@market/contracts';
import { createApiKey } from '@market/contracts/identity';
import { principalOf, refuse, type Call } from '@market/messaging';
import { Idempotency, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { isPrintable } from '../printable-text.js';
import { ApiKeys } from './api-keys.js';
import { scopesBeyond } from './scopes.js';

const NAME_LENGTH = 100;

const instant = z.iso.datetime({ offset: true });

// Locked until the commit, so that a key which is being revoked leaves no new key behind.
const lockCreator = sql(
  'api-keys.lock-creator',
  `SELECT scopes, $3::timestamptz > now() AS expires_later
   FROM api_keys WHERE id = $1 AND account_id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) FOR SHARE`,
);

@Injectable()
export class CreateApiKey {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly apiKeys: ApiKeys,
  ) {}

  async execute(input: InputOf<typeof createApiKey>, call: Call): Promise<OutputOf<typeof createApiKey>> {
    if (!isPrintable(input.name, NAME_LENGTH)) throw refuse(createApiKey, 'name_invalid', {});
    if (input.expiresAt !== undefined && !instant.safeParse(input.expiresAt).success) throw refuse(createApiKey, 'expiry_invalid', {});
    return this.idempotency.run(createApiKey, call, (tx) => this.create(tx, input, call));
  }

  private async create(tx: Tx, input: InputOf<typeof createApiKey>, call: Call): Promise<OutputOf<typeof createApiKey>> {
    const { keyId, accountId } = principalOf(call);
    const expiresAt = input.expiresAt === undefined ? null : new Date(input.expiresAt);
    const [creator] = await tx.query<{ scopes: Scope[]; expires_later: boolean | null }>(lockCreator, [keyId, accountId, expiresAt]);
    if (!creator) throw refuse(createApiKey, 'key_invalid', {});
    const missing = scopesBeyond(input.scopes, creator.scopes);
    if (missing.length > 0) throw refuse(createApiKey, 'scope_not_held', { missing_scopes: missing });
    if (creator.expires_later === false) throw refuse(createApiKey, 'expiry_invalid', {});
    const { key, row } = await this.apiKeys.issue(tx, { accountId, name: input.name, scopes: input.scopes, expiresAt });
    return {
      id: row.id,
      name: row.name,
      key_prefix: row.keyPrefix,
      scopes: row.scopes,
      is_active: true,
      created_at: row.createdAt.toISOString(),
      expires_at: expiresAt?.toISOString() ?? null,
      key,
    };
  }
}
