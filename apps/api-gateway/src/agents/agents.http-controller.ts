import { getSellerQuality, listingsOf, listingView, searchListings } from '@market/contracts/catalog';
import { getAgent } from '@market/contracts/identity';
import { agentScore, getScore } from '@market/contracts/reputation';
import { MessageBus, refuse } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, Param, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { success } from '../http/envelope.js';
import { sendCacheable } from '../http/public-cache.js';
import { uuidOr } from '../http/values.js';
import { envelopeSchema, jsonSchemaOf, objectSchema, type JsonSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { agentExample } from './agents.examples.js';

/** The number of listings on a first page. */
const SHOWN = 20;

const url: JsonSchema = { type: 'string', format: 'uri' };
const score = agentScore.pick({ status: true, market_score: true, score_tier: true, provisional: true });
const agentSchema = objectSchema({
  ...(jsonSchemaOf(getAgent.output).properties as Record<string, JsonSchema>),
  score: objectSchema({
    ...(jsonSchemaOf(score).properties as Record<string, JsonSchema>),
    url: { ...url, description: 'The full score, with its components.' },
  }),
  quality: {
    ...jsonSchemaOf(getSellerQuality.output),
    description:
      'Measured by the marketplace over all that it sells per call; the rate is weighted by the calls of each listing.',
  },
  listings: objectSchema({
    total: { type: 'integer' },
    items: { type: 'array', items: jsonSchemaOf(listingView), description: 'The most reliable of them.' },
    url: { ...url, description: 'All of them, by pages.' },
  }),
});

@ApiTags('Reputation')
@Controller('agents')
export class AgentsHttpController {
  constructor(
    private readonly bus: MessageBus,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
  ) {}

  @Get(':agentId')
  @Public()
  @Operation({
    summary: 'Who an agent is',
    description: 'Its public profile: since when it is here, how it does as a seller, and what it sells.',
    asks: [getAgent, getScore, getSellerQuality, searchListings],
    cacheable: true,
    answer: { schema: envelopeSchema(agentSchema), example: success(agentExample) },
  })
  async getAgent(
    @Param('agentId') text: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const agentId = uuidOr(text, () => refuse(getAgent, 'agent_not_found', {}));
    const { context } = request;
    const [agent, fullScore, quality, found] = await Promise.all([
      this.bus.request(getAgent, { agentId }, context),
      this.bus.request(getScore, { agentId }, context),
      this.bus.request(getSellerQuality, { sellerId: agentId }, context),
      this.bus.request(searchListings, { sellerId: agentId, sort: 'reliable', page: 1, limit: SHOWN }, context),
    ]);
    const api = `${this.platform.publicUrl}/api/v1`;
    return sendCacheable(
      request,
      reply,
      success({
        ...agent,
        score: { ...score.parse(fullScore), url: `${api}/agents/${agentId}/score` },
        quality,
        listings: { total: found.total, items: listingsOf(found), url: `${api}/listings?seller=${agentId}` },
      }),
    );
  }
}
