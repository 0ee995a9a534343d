import { Module } from '@nestjs/common';
import { AgentsModule } from './agents/agents.module.js';
import { ApiKeysModule } from './api-keys/api-keys.module.js';
import { BudgetsModule } from './budgets/budgets.module.js';
import { ChallengesModule } from './challenges/challenges.module.js';
import { ClaimsModule } from './claims/claims.module.js';
import { OperatorsModule } from './operators/operators.module.js';
import { SessionsModule } from './sessions/sessions.module.js';

@Module({
  imports: [
    ChallengesModule,
    AgentsModule,
    ApiKeysModule,
    BudgetsModule,
    SessionsModule,
    ClaimsModule,
    OperatorsModule,
  ],
})
export class IdentityModule {}
