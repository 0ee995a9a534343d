import { agreeToClaim, claimAgent, createClaimCode } from '@market/contracts/identity';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { Body, Controller, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { AnyCredential, RequireScope } from '../http/access.js';
import { bodyOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { uuidOr } from '../http/values.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { claimBodyExample, claimCodeExample, claimExample } from './identity.examples.js';

const claimAgentBody = claimAgent.input.omit({ agent_id: true });

@ApiTags('Identity')
@Controller()
export class ClaimsHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Post('agents/:agentId/claim')
  @AnyCredential(['human'])
  @Operation({
    summary: 'Claim an agent as its human operator',
    description:
      "The agent's wallet signs a challenge of purpose claim, which was made with this human's session and names " +
      'both. The first claim stands.',
    asks: [claimAgent],
    body: { schema: claimAgentBody, examples: { evm: claimBodyExample } },
    answer: { schema: envelopeSchema(jsonSchemaOf(claimAgent.output)), example: success(claimExample) },
  })
  async claimAgent(
    @Param('agentId') agentId: string,
    @Body(bodyOf(claimAgentBody)) body: z.output<typeof claimAgentBody>,
    @CurrentContext() context: RequestContext,
  ) {
    const id = uuidOr(agentId, () => refuse(claimAgent, 'agent_not_found', {}));
    return success(await this.bus.request(claimAgent, { agent_id: id, ...body }, context));
  }

  @Post('agents/:agentId/claim-code')
  @AnyCredential(['human'])
  @Operation({
    summary: 'Begin to claim an agent that finishes it',
    description:
      'A code for the agent alone, which it sends to POST /auth/challenge with its key: the message that its wallet ' +
      'signs then names this human. Another code for the same agent ends it.',
    asks: [createClaimCode],
    answer: { schema: envelopeSchema(jsonSchemaOf(createClaimCode.output)), example: success(claimCodeExample) },
  })
  async createClaimCode(@Param('agentId') agentId: string, @CurrentContext() context: RequestContext) {
    const id = uuidOr(agentId, () => refuse(createClaimCode, 'agent_not_found', {}));
    return success(await this.bus.request(createClaimCode, { agent_id: id }, context));
  }

  @Post('me/claim')
  @RequireScope('write')
  @Operation({
    summary: 'Agree to the claim of a human',
    description:
      "The agent's wallet signs the challenge of purpose claim that was made with the code of the human. The first " +
      'claim stands.',
    asks: [agreeToClaim],
    body: { schema: agreeToClaim.input, examples: { evm: claimBodyExample } },
    answer: { schema: envelopeSchema(jsonSchemaOf(agreeToClaim.output)), example: success(claimExample) },
  })
  async agreeToClaim(
    @Body(bodyOf(agreeToClaim.input)) body: z.output<typeof agreeToClaim.input>,
    @CurrentContext() context: RequestContext,
  ) {
    return success(await this.bus.request(agreeToClaim, body, context));
  }
}
