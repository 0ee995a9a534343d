import type { BudgetFields, InputOf, OutputOf } from '@market/contracts';
import { authenticate } from '@market/contracts/identity';
import { refuse } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { toBudget } from '../budgets/budget.js';
import { RecordKeyUse } from './record-key-use.job.js';

type Principal = OutputOf<typeof authenticate>;
type PrincipalRow = Omit<Principal, 'budgets'> & { keyBudget: BudgetFields | null; agentBudget: BudgetFields | null };

const findByKey = sql(
  'api-keys.find-principal',
  `SELECT a.id AS "accountId", a.account_type AS "accountType", a.role, a.display_name AS "displayName", k.id AS "keyId", k.scopes, k.budget AS "keyBudget", a.budget AS "agentBudget"
   FROM api_keys k JOIN accounts a ON a.id = k.account_id
   WHERE k.key_hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
);
const findBySession = sql(
  'sessions.find-principal',
  `SELECT a.id AS "accountId", a.account_type AS "accountType", a.role, a.display_name AS "displayName", s.id AS "keyId", ARRAY[]::text[] AS scopes, NULL AS "keyBudget", NULL AS "agentBudget"
   FROM sessions s JOIN accounts a ON a.id = s.account_id
   WHERE s.token_hash = $1 AND s.expires_at > now()`,
);

/** Who a key or a session is. Of an unknown, a revoked and an expired one the same is said. */
@Injectable()
export class Authenticate {
  constructor(
    private readonly database: Database,
    private readonly keyUse: RecordKeyUse,
  ) {}

  async execute({ keyHash, kind }: InputOf<typeof authenticate>): Promise<Principal> {
    const [row] = await this.database.query<PrincipalRow>(kind === 'session' ? findBySession : findByKey, [
      Buffer.from(keyHash, 'hex'),
    ]);
    if (!row) throw refuse(authenticate, 'key_invalid', {});
    const { keyBudget, agentBudget, ...principal } = row;
    if (kind === 'api_key') this.keyUse.note(principal.keyId);
    const budgets = [
      ...(keyBudget ? [toBudget(principal.keyId, 'key', keyBudget)] : []),
      ...(agentBudget ? [toBudget(principal.accountId, 'agent', agentBudget)] : []),
    ];
    return budgets.length > 0 ? { ...principal, budgets } : principal;
  }
}
