import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module.js';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { FindAccounts } from './find-accounts.query.js';
import { InspectAccount } from './inspect-account.query.js';
import { OperatorsMessageController } from './operators.message-controller.js';
import { RevokeAnyKey } from './revoke-any-key.use-case.js';
import { SuspendAgent } from './suspend-agent.use-case.js';

@Module({
  imports: [AgentsModule, ApiKeysModule],
  controllers: [OperatorsMessageController],
  providers: [FindAccounts, InspectAccount, SuspendAgent, RevokeAnyKey],
})
export class OperatorsModule {}
