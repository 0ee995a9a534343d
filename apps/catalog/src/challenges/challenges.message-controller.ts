import type { InputOf } from '@market/contracts';
import { createListingChallenge } from '@market/contracts/catalog';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { CreateListingChallenge } from './create-listing-challenge.use-case.js';

@Controller()
export class ChallengesMessageController {
  constructor(private readonly createListingChallengeUseCase: CreateListingChallenge) {}

  @HandleRequest(createListingChallenge)
  createListingChallenge(_input: InputOf<typeof createListingChallenge>, context: RequestContext) {
    return this.createListingChallengeUseCase.execute(context);
  }
}
