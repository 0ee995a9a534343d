import type { InputOf } from '@market/contracts';
import { getAgent, getAgents, getProfile, openPayerAccount, recover, register } from '@market/contracts/identity';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { GetAgent } from './get-agent.query.js';
import { GetAgents } from './get-agents.query.js';
import { GetProfile } from './get-profile.query.js';
import { OpenPayerAccount } from './open-payer-account.use-case.js';
import { Recover } from './recover.use-case.js';
import { Register } from './register.use-case.js';

@Controller()
export class AgentsMessageController {
  constructor(
    private readonly registerUseCase: Register,
    private readonly recoverUseCase: Recover,
    private readonly openPayerAccountUseCase: OpenPayerAccount,
    private readonly getProfileQuery: GetProfile,
    private readonly getAgentQuery: GetAgent,
    private readonly getAgentsQuery: GetAgents,
  ) {}

  @HandleRequest(register)
  register(input: InputOf<typeof register>, context: RequestContext) {
    return this.registerUseCase.execute(input, context);
  }

  @HandleRequest(recover)
  recover(input: InputOf<typeof recover>) {
    return this.recoverUseCase.execute(input);
  }

  @HandleRequest(openPayerAccount)
  openPayerAccount(input: InputOf<typeof openPayerAccount>, context: RequestContext) {
    return this.openPayerAccountUseCase.execute(input, context);
  }

  @HandleRequest(getProfile)
  getProfile(_input: InputOf<typeof getProfile>, context: RequestContext) {
    return this.getProfileQuery.execute(principalOf(context));
  }

  @HandleRequest(getAgent)
  getAgent(input: InputOf<typeof getAgent>) {
    return this.getAgentQuery.execute(input.agentId);
  }

  @HandleRequest(getAgents)
  getAgents(input: InputOf<typeof getAgents>) {
    return this.getAgentsQuery.execute(input.ids);
  }
}
