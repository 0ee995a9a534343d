import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { identityConfig, type IdentityConfig } from '../config.js';
import { ChallengesRepository } from './challenges.repository.js';
import { ClaimCodesRepository } from './claim-codes.repository.js';

const INTERVAL_MS = 10_000;
const BATCH = 5_000;

/** Deletes expired challenges and claim codes, and the oldest ones beyond a maximum, because creating a challenge needs no credential. */
@Injectable()
export class SweepChallenges implements OnModuleInit {
  constructor(
    private readonly challenges: ChallengesRepository,
    private readonly claimCodes: ClaimCodesRepository,
    private readonly jobs: Jobs,
    @Inject(identityConfig.token) private readonly config: Pick<IdentityConfig, 'maxStoredChallenges'>,
  ) {}

  onModuleInit(): void {
    this.jobs.every('sweep challenges', INTERVAL_MS, () => this.run());
  }

  async run(): Promise<void> {
    await this.claimCodes.deleteExpired();
    while ((await this.challenges.deleteExpired(BATCH)) === BATCH);
    while ((await this.challenges.deleteBeyond(this.config.maxStoredChallenges, BATCH)) === BATCH);
  }
}
