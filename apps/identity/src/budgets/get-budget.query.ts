import type { InputOf, OutputOf } from '@market/contracts';
import { getBudget } from '@market/contracts/identity';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

const find = sql('budgets.find-of-account', 'SELECT budget FROM accounts WHERE id = $1');

@Injectable()
export class GetBudget {
  constructor(private readonly database: Database) {}

  @HandleRequest(getBudget)
  async execute(_input: InputOf<typeof getBudget>, context: RequestContext): Promise<OutputOf<typeof getBudget>> {
    const { accountId } = principalOf(context);
    const [account] = await this.database.query<OutputOf<typeof getBudget>>(find, [accountId]);
    return { budget: account?.budget ?? null };
  }
}
