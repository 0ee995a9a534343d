import { Module } from '@nestjs/common';
import { ChallengesMessageController } from './challenges.message-controller.js';
import { CreateListingChallenge } from './create-listing-challenge.use-case.js';
import { ListingChallenges } from './listing-challenges.js';
import { SweepChallenges } from './sweep-challenges.job.js';

@Module({
  controllers: [ChallengesMessageController],
  providers: [CreateListingChallenge, ListingChallenges, SweepChallenges],
  exports: [ListingChallenges],
})
export class ChallengesModule {}
