import { Jobs } from '@market/runtime';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ChallengesRepository } from './infra/challenges.repository.js';

const EVERY_MS = 60_000;
const BATCH = 5_000;

/** Expired challenges are of no use to anyone, and asking for one needs no credential. */
@Injectable()
export class SweepChallenges implements OnModuleInit {
  constructor(
    private readonly challenges: ChallengesRepository,
    private readonly jobs: Jobs,
  ) {}

  onModuleInit(): void {
    this.jobs.every('sweep challenges', EVERY_MS, () => this.run());
  }

  async run(): Promise<void> {
    while ((await this.challenges.deleteExpired(BATCH)) === BATCH);
  }
}
