import type { InputOf } from '@market/contracts';
import { recover } from '@market/contracts/identity';
import { MessageBus, type RequestContext } from '@market/messaging';
import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../http/access.js';
import { bodyOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { recoverBodyExample, recoveryExample } from './identity.examples.js';

@ApiTags('Identity')
@Controller('auth/recover')
export class RecoverHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Post()
  @Public({ rate: 'registrations' })
  @Operation({
    summary: 'Get a fresh key for a registered wallet',
    description:
      'With a challenge of purpose recovery. The key is shown in this answer and never again. Keys of before go on ' +
      'working unless revoke_existing is true.',
    asks: [recover],
    body: { schema: recover.input, examples: { evm: recoverBodyExample } },
    answer: { schema: envelopeSchema(jsonSchemaOf(recover.output)), example: success(recoveryExample) },
  })
  async recover(@Body(bodyOf(recover.input)) body: InputOf<typeof recover>, @CurrentContext() context: RequestContext) {
    return success(await this.bus.request(recover, body, context));
  }
}
