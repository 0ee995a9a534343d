import { Module } from '@nestjs/common';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { ChallengesModule } from '../challenges/challenges.module.js';
import { WalletsModule } from '../wallets/wallets.module.js';
import { GetAgent } from './get-agent.query.js';
import { GetAgents } from './get-agents.query.js';
import { GetProfile } from './get-profile.query.js';
import { OpenPayerAccount } from './open-payer-account.use-case.js';
import { Recover } from './recover.use-case.js';
import { Register } from './register.use-case.js';

@Module({
  imports: [ChallengesModule, WalletsModule, ApiKeysModule],
  providers: [Register, Recover, OpenPayerAccount, GetProfile, GetAgent, GetAgents],
  exports: [GetProfile],
})
export class AgentsModule {}
