import { Module } from '@nestjs/common';
import { ChallengesModule } from '../challenges/challenges.module.js';
import { WalletsModule } from '../wallets/wallets.module.js';
import { BeginOidcSignIn } from './begin-oidc-sign-in.use-case.js';
import { CloseSession } from './close-session.use-case.js';
import { OidcProvider } from './oidc-provider.js';
import { OpenOidcSession } from './open-oidc-session.use-case.js';
import { OpenSession } from './open-session.use-case.js';
import { Sessions } from './sessions.js';
import { SweepSessions } from './sweep-sessions.job.js';

@Module({
  imports: [ChallengesModule, WalletsModule],
  providers: [Sessions, OpenSession, CloseSession, OidcProvider, BeginOidcSignIn, OpenOidcSession, SweepSessions],
})
export class SessionsModule {}
