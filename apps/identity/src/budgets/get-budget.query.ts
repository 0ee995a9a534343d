import type { OutputOf } from '@market/contracts';
import type { getBudget } from '@market/contracts/identity';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

const find = sql('budgets.find-of-account', 'SELECT budget FROM accounts WHERE id = $1');

@Injectable()
export class GetBudget {
  constructor(private readonly database: Database) {}

  async execute(accountId: string): Promise<OutputOf<typeof getBudget>> {
    const [account] = await this.database.query<OutputOf<typeof getBudget>>(find, [accountId]);
    return { budget: account?.budget ?? null };
  }
}
