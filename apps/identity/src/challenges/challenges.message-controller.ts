import type { InputOf } from '@market/contracts';
import { createChallenge } from '@market/contracts/identity';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { CreateChallenge } from './create-challenge.use-case.js';

@Controller()
export class ChallengesMessageController {
  constructor(private readonly createChallengeUseCase: CreateChallenge) {}

  @HandleRequest(createChallenge)
  createChallenge(input: InputOf<typeof createChallenge>, context: RequestContext) {
    return this.createChallengeUseCase.execute(input, context);
  }
}
