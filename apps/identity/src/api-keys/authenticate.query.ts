import type { BudgetFields, InputOf, OutputOf } from '@market/contracts';
import { authenticate } from '@market/contracts/identity';
import { HandleRequest, refuse } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { toBudget } from '../budgets/budget.js';
import { identityConfig, type IdentityConfig } from '../config.js';
import { RecordKeyUse } from './record-key-use.job.js';

type Principal = OutputOf<typeof authenticate>;
type PrincipalRow = Omit<Principal, 'budgets' | 'isOperator'> & {
  keyBudget: BudgetFields | null;
  agentBudget: BudgetFields | null;
  isSuspended: boolean;
  isOperator: boolean;
};

const findByKey = sql(
  'api-keys.find-principal',
  `SELECT a.id AS "accountId", a.account_type AS "accountType", a.role, a.display_name AS "displayName",
     k.id AS "keyId", k.scopes, k.budget AS "keyBudget", a.budget AS "agentBudget",
     a.suspended_at IS NOT NULL AS "isSuspended", false AS "isOperator"
   FROM api_keys k JOIN accounts a ON a.id = k.account_id
   WHERE k.key_hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
);
const findBySession = sql(
  'sessions.find-principal',
  `SELECT a.id AS "accountId", a.account_type AS "accountType", a.role, a.display_name AS "displayName",
     s.id AS "keyId", ARRAY[]::text[] AS scopes, NULL AS "keyBudget", NULL AS "agentBudget",
     false AS "isSuspended", a.id = ANY($2::uuid[]) OR EXISTS (
       SELECT FROM wallets w
       WHERE w.account_id = a.id AND w.address = ANY($3::text[])
         AND w.status = 'active' AND 'login' = ANY(w.capabilities)) AS "isOperator"
   FROM sessions s JOIN accounts a ON a.id = s.account_id
   WHERE s.token_hash = $1 AND s.expires_at > now()`,
);

/** Resolves a key or a session. Unknown, revoked and expired ones get the same refusal. */
@Injectable()
export class Authenticate {
  constructor(
    private readonly database: Database,
    private readonly keyUse: RecordKeyUse,
    @Inject(identityConfig.token) private readonly config: IdentityConfig,
  ) {}

  @HandleRequest(authenticate)
  async execute({ keyHash, kind }: InputOf<typeof authenticate>): Promise<Principal> {
    const hash = Buffer.from(keyHash, 'hex');
    const { accountIds, addresses } = this.config.operators;
    const [row] =
      kind === 'session'
        ? await this.database.query<PrincipalRow>(findBySession, [hash, accountIds, addresses])
        : await this.database.query<PrincipalRow>(findByKey, [hash]);
    if (!row) throw refuse(authenticate, 'key_invalid', {});
    const { keyBudget, agentBudget, isSuspended, isOperator, ...principal } = row;
    if (isSuspended) throw refuse(authenticate, 'account_suspended', {});
    if (kind === 'api_key') this.keyUse.note(principal.keyId);
    const budgets = [
      ...(keyBudget ? [toBudget(principal.keyId, 'key', keyBudget)] : []),
      ...(agentBudget ? [toBudget(principal.accountId, 'agent', agentBudget)] : []),
    ];
    return { ...principal, ...(budgets.length > 0 && { budgets }), ...(isOperator && { isOperator }) };
  }
}
