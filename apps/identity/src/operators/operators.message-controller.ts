import type { InputOf } from '@market/contracts';
import {
  findAccounts,
  inspectAccount,
  recordOperatorRead,
  revokeAnyKey,
  suspendAgent,
} from '@market/contracts/identity';
import { HandleRequest, operatorOf, refuse, type RequestContext } from '@market/messaging';
import { Database, recordOperatorAction } from '@market/persistence';
import { Controller } from '@nestjs/common';
import { FindAccounts } from './find-accounts.query.js';
import { InspectAccount } from './inspect-account.query.js';
import { RevokeAnyKey } from './revoke-any-key.use-case.js';
import { SuspendAgent } from './suspend-agent.use-case.js';

@Controller()
export class OperatorsMessageController {
  constructor(
    private readonly database: Database,
    private readonly findAccountsQuery: FindAccounts,
    private readonly inspectAccountQuery: InspectAccount,
    private readonly suspendAgentUseCase: SuspendAgent,
    private readonly revokeAnyKeyUseCase: RevokeAnyKey,
  ) {}

  @HandleRequest(findAccounts)
  findAccounts({ query }: InputOf<typeof findAccounts>, context: RequestContext) {
    operatorOf(context);
    return this.findAccountsQuery.execute(query);
  }

  @HandleRequest(inspectAccount)
  inspectAccount({ accountId }: InputOf<typeof inspectAccount>, context: RequestContext) {
    operatorOf(context);
    return this.inspectAccountQuery.execute(accountId);
  }

  @HandleRequest(suspendAgent)
  async suspendAgent({ agentId, suspended, reason }: InputOf<typeof suspendAgent>, context: RequestContext) {
    const done = await this.suspendAgentUseCase.execute(agentId, suspended, { operator: operatorOf(context), reason });
    if (!done) throw refuse(suspendAgent, 'agent_not_found', {});
    return done;
  }

  @HandleRequest(revokeAnyKey)
  async revokeAnyKey({ keyId, reason }: InputOf<typeof revokeAnyKey>, context: RequestContext) {
    const done = await this.revokeAnyKeyUseCase.execute(keyId, { operator: operatorOf(context), reason });
    if (!done) throw refuse(revokeAnyKey, 'api_key_not_found', {});
    return { id: keyId, revoked: true as const, ...done };
  }

  @HandleRequest(recordOperatorRead)
  async recordOperatorRead({ command, subject }: InputOf<typeof recordOperatorRead>, context: RequestContext) {
    const operator = operatorOf(context);
    await this.database.transaction((tx) => recordOperatorAction(tx, { operator, command, subject, reason: null }));
    return {};
  }
}
