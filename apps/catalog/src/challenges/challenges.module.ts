import { Module } from '@nestjs/common';
import { CreateListingChallenge } from './create-listing-challenge.use-case.js';
import { ListingChallenges } from './listing-challenges.js';
import { SweepChallenges } from './sweep-challenges.job.js';

@Module({
  providers: [CreateListingChallenge, ListingChallenges, SweepChallenges],
  exports: [ListingChallenges],
})
export class ChallengesModule {}
