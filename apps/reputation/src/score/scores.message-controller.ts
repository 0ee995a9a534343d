import type { InputOf } from '@market/contracts';
import { getScore } from '@market/contracts/reputation';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { GetScore } from './get-score.query.js';

@Controller()
export class ScoresMessageController {
  constructor(private readonly getScoreQuery: GetScore) {}

  @HandleRequest(getScore)
  getScore(input: InputOf<typeof getScore>, context: RequestContext) {
    return this.getScoreQuery.execute(input, context);
  }
}
