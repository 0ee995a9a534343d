import { Module } from '@nestjs/common';
import { ChallengesModule } from '../challenges/challenges.module.js';
import { ClaimAgent } from './claim-agent.use-case.js';
import { ClaimsMessageController } from './claims.message-controller.js';

@Module({ imports: [ChallengesModule], controllers: [ClaimsMessageController], providers: [ClaimAgent] })
export class ClaimsModule {}
