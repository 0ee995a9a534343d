import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module.js';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { FindAccounts } from './find-accounts.query.js';
import { InspectAccount } from './inspect-account.query.js';
import { RecordOperatorRead } from './record-operator-read.use-case.js';
import { RevokeAnyKey } from './revoke-any-key.use-case.js';
import { SuspendAgent } from './suspend-agent.use-case.js';

@Module({
  imports: [AgentsModule, ApiKeysModule],
  providers: [RecordOperatorRead, FindAccounts, InspectAccount, SuspendAgent, RevokeAnyKey],
})
export class OperatorsModule {}
