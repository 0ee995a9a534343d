import { getProfile } from '@market/contracts/identity';
import { MessageBus, type RequestContext } from '@market/messaging';
import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AnyCredential } from '../http/access.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { profileExample } from './identity.examples.js';

@ApiTags('Identity')
@Controller('me')
export class ProfileHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Get()
  @AnyCredential(['agent', 'human'], { owners: true })
  @Operation({
    summary: "The caller's own profile",
    description:
      'Also the way to verify a key before other work. A human sees the agents that it has claimed; ' +
      'with agent_id, the profile of one of them.',
    asks: [getProfile],
    answer: { schema: envelopeSchema(jsonSchemaOf(getProfile.output)), example: success(profileExample) },
  })
  async getProfile(@CurrentContext() context: RequestContext) {
    return success(await this.bus.request(getProfile, {}, context));
  }
}
