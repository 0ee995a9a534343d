import { Module } from '@nestjs/common';
import { ChallengesModule } from '../challenges/challenges.module.js';
import { CloseSession } from './close-session.use-case.js';
import { OpenSession } from './open-session.use-case.js';
import { SessionsMessageController } from './sessions.message-controller.js';
import { SweepSessions } from './sweep-sessions.job.js';

@Module({
  imports: [ChallengesModule],
  controllers: [SessionsMessageController],
  providers: [OpenSession, CloseSession, SweepSessions],
})
export class SessionsModule {}
