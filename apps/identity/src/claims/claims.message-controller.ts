import type { InputOf } from '@market/contracts';
import { claimAgent, getOwnedAgent } from '@market/contracts/identity';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { ClaimAgent } from './claim-agent.use-case.js';
import { GetOwnedAgent } from './get-owned-agent.query.js';

@Controller()
export class ClaimsMessageController {
  constructor(
    private readonly claimAgentUseCase: ClaimAgent,
    private readonly getOwnedAgentQuery: GetOwnedAgent,
  ) {}

  @HandleRequest(claimAgent)
  claimAgent(input: InputOf<typeof claimAgent>, context: RequestContext) {
    return this.claimAgentUseCase.execute(input, principalOf(context).accountId, context);
  }

  @HandleRequest(getOwnedAgent)
  getOwnedAgent(input: InputOf<typeof getOwnedAgent>, context: RequestContext) {
    return this.getOwnedAgentQuery.execute(input, principalOf(context).accountId);
  }
}
