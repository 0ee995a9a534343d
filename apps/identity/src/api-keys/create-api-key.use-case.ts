import type { InputOf, OutputOf, Scope } from '@market/contracts';
import { createApiKey } from '@market/contracts/identity';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Idempotency, sql, type Tx } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { identityConfig, type IdentityConfig } from '../config.js';
import { isPrintable } from '../printable-text.js';
import { ApiKeys } from './api-keys.js';
import { scopesBeyond } from './scopes.js';

// Locks the account and the key until the commit. The lock of the key prevents it from being revoked while it creates a
// new key. The lock of the account serializes the creation of keys, so that they are counted correctly, and excludes
// the revocation of all keys.
const lockCreator = sql(
  'api-keys.lock-creator',
  `WITH account AS MATERIALIZED (SELECT id FROM accounts WHERE id = $2 FOR NO KEY UPDATE)
   SELECT k.scopes, k.expires_at, k.budget IS NOT NULL AS has_budget,
     $3::timestamptz > now() AS expires_later, $3::timestamptz > k.expires_at AS outlives
   FROM account JOIN api_keys k ON k.account_id = account.id
   WHERE k.id = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) FOR SHARE OF k`,
);

/** Like `lockCreator`, for an owner's session, which counts as a key with all scopes and no expiry. */
const lockOwner = sql(
  'api-keys.lock-owner',
  `WITH account AS MATERIALIZED (SELECT id FROM accounts WHERE id = $2 FOR NO KEY UPDATE)
   SELECT ARRAY['read', 'write', 'subscribe'] AS scopes, NULL::timestamptz AS expires_at, false AS has_budget,
     $3::timestamptz > now() AS expires_later, NULL::boolean AS outlives
   FROM account JOIN claims c ON c.agent_id = account.id JOIN sessions s ON s.account_id = c.human_id
   WHERE s.id = $1 AND s.expires_at > now() FOR SHARE OF s`,
);

const countActive = sql(
  'api-keys.count-active',
  'SELECT count(*)::int AS count FROM api_keys WHERE account_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())',
);

interface CreatorRow {
  scopes: Scope[];
  expires_at: Date | null;
  has_budget: boolean;
  /** Null if the new key has no expiry. */
  expires_later: boolean | null;
  /** Whether the new key would expire after the creating key; null if either has no expiry. */
  outlives: boolean | null;
}

@Injectable()
export class CreateApiKey {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly apiKeys: ApiKeys,
    @Inject(identityConfig.token) private readonly config: IdentityConfig,
  ) {}

  @HandleRequest(createApiKey)
  async execute(input: InputOf<typeof createApiKey>, context: RequestContext): Promise<OutputOf<typeof createApiKey>> {
    if (!isPrintable(input.name)) throw refuse(createApiKey, 'name_invalid', {});
    return this.idempotency.run(createApiKey, context, (tx) => this.create(tx, input, context));
  }

  private async create(
    tx: Tx,
    input: InputOf<typeof createApiKey>,
    context: RequestContext,
  ): Promise<OutputOf<typeof createApiKey>> {
    const { keyId, accountId, ownerId } = principalOf(context);
    const wanted = input.expires_at === undefined ? null : new Date(input.expires_at);
    const [creator] = await tx.query<CreatorRow>(ownerId ? lockOwner : lockCreator, [keyId, accountId, wanted]);
    if (!creator) throw refuse(createApiKey, 'key_invalid', {});
    if (creator.has_budget) throw refuse(createApiKey, 'key_has_budget', {});
    const missing = scopesBeyond(input.scopes, creator.scopes);
    if (missing.length > 0) throw refuse(createApiKey, 'scope_not_held', { missing_scopes: missing });
    if (creator.expires_later === false) throw refuse(createApiKey, 'expiry_invalid', {});
    if (creator.outlives)
      throw refuse(createApiKey, 'expiry_beyond_own', { latest_expires_at: creator.expires_at!.toISOString() });
    const [{ count }] = (await tx.query<{ count: number }>(countActive, [accountId])) as [{ count: number }];
    if (count >= this.config.maxApiKeys)
      throw refuse(createApiKey, 'too_many_keys', { maximum: this.config.maxApiKeys });
    const expiresAt = wanted ?? creator.expires_at;
    const { name, scopes, budget } = input;
    const { key, row } = await this.apiKeys.issue(tx, { accountId, name, scopes, expiresAt, budget });
    return {
      ...row,
      is_active: true,
      created_at: row.created_at.toISOString(),
      expires_at: row.expires_at?.toISOString() ?? null,
      key,
    };
  }
}
