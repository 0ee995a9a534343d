import type { InputOf } from '@market/contracts';
import { claimAgent } from '@market/contracts/identity';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { ClaimAgent } from './claim-agent.use-case.js';

@Controller()
export class ClaimsMessageController {
  constructor(private readonly claimAgentUseCase: ClaimAgent) {}

  @HandleRequest(claimAgent)
  claimAgent(input: InputOf<typeof claimAgent>, context: RequestContext) {
    return this.claimAgentUseCase.execute(input, principalOf(context).accountId, context);
  }
}
