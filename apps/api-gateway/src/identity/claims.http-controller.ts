import { claimAgent } from '@market/contracts/identity';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { Body, Controller, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { AnyCredential } from '../http/access.js';
import { bodyOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { uuidOr } from '../http/values.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { claimBodyExample, claimExample } from './identity.examples.js';

const claimAgentBody = claimAgent.input.omit({ agent_id: true });

@ApiTags('Identity')
@Controller('agents/:agentId/claim')
export class ClaimsHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Post()
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
}
