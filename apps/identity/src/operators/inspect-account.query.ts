import type { InputOf, OutputOf } from '@market/contracts';
import { inspectAccount } from '@market/contracts/identity';
import { HandleRequest, operatorOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { GetProfile } from '../agents/get-profile.query.js';
import { ReadApiKeys } from '../api-keys/read-api-keys.query.js';
import { SUMMARY_COLUMNS, toSummary, type AccountSummaryRow } from './find-accounts.query.js';

const find = sql(
  'operators.find-account',
  `SELECT ${SUMMARY_COLUMNS}, a.suspended_at, c.human_id AS claimed_by
   FROM accounts a LEFT JOIN wallets w ON w.account_id = a.id AND w.is_primary LEFT JOIN claims c ON c.agent_id = a.id WHERE a.id = $1`,
);

interface FoundRow extends AccountSummaryRow {
  suspended_at: Date | null;
  claimed_by: string | null;
}

@Injectable()
export class InspectAccount {
  constructor(
    private readonly database: Database,
    private readonly profiles: GetProfile,
    private readonly keys: ReadApiKeys,
  ) {}

  @HandleRequest(inspectAccount)
  async execute(
    { accountId }: InputOf<typeof inspectAccount>,
    context: RequestContext,
  ): Promise<OutputOf<typeof inspectAccount>> {
    operatorOf(context);
    const [row] = await this.database.query<FoundRow>(find, [accountId]);
    if (!row) throw refuse(inspectAccount, 'agent_not_found', {});
    const { suspended_at, claimed_by, ...summary } = row;
    const { wallets, agents } = await this.profiles.of({ accountId });
    return {
      ...toSummary(summary),
      suspended_at: suspended_at?.toISOString() ?? null,
      claimed_by,
      wallets,
      agents,
      ...(await this.keys.listOf(accountId)),
    };
  }
}
