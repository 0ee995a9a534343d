import { Module } from '@nestjs/common';
import { ChallengesModule } from '../challenges/challenges.module.js';
import { ClaimAgent } from './claim-agent.use-case.js';
import { ClaimsMessageController } from './claims.message-controller.js';
import { GetOwnedAgent } from './get-owned-agent.query.js';

@Module({
  imports: [ChallengesModule],
  controllers: [ClaimsMessageController],
  providers: [ClaimAgent, GetOwnedAgent],
})
export class ClaimsModule {}
