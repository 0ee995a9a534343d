import { agentScore, getScore } from '@market/contracts/reputation';
import { MessageBus, refuse } from '@market/messaging';
import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { success } from '../http/envelope.js';
import { sendCacheable } from '../http/public-cache.js';
import { uuidOr } from '../http/values.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { scoreExample } from './reputation.examples.js';

@ApiTags('Reputation')
@Controller('agents')
export class ScoresHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Get(':agentId/score')
  @Public()
  @Operation({
    summary: 'Score of an agent',
    description:
      'How the agent does as a seller, 0 to 1000: `reliability` × `reputation` × `volume` / 10⁶, from measured ' +
      'calls and verified reviews. A buyer weighs what it paid the agent, up to $1,000: less what it earns in the ' +
      'marketplace itself, and down to a tenth if it buys from no other seller. `unscored` until something was bought of it.',
    asks: [getScore],
    cacheable: true,
    answer: { schema: envelopeSchema(jsonSchemaOf(agentScore)), example: success(scoreExample) },
  })
  async getScore(
    @Param('agentId') agentId: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const id = uuidOr(agentId, () => refuse(getScore, 'agent_not_found', {}));
    return sendCacheable(request, reply, success(await this.bus.request(getScore, { agentId: id }, request.context)));
  }
}
