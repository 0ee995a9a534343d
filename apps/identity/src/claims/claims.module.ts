import { Module } from '@nestjs/common';
import { ChallengesModule } from '../challenges/challenges.module.js';
import { ClaimAgent } from './claim-agent.use-case.js';
import { CreateClaimCode } from './create-claim-code.use-case.js';
import { GetOwnedAgent } from './get-owned-agent.query.js';

@Module({
  imports: [ChallengesModule],
  providers: [ClaimAgent, CreateClaimCode, GetOwnedAgent],
})
export class ClaimsModule {}
