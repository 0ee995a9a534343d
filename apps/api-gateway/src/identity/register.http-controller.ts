import type { InputOf } from '@market/contracts';
import { register } from '@market/contracts/identity';
import { MessageBus, type RequestContext } from '@market/messaging';
import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../http/access.js';
import { bodyOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { registerBodyExample, registrationExample } from './identity.examples.js';

@ApiTags('Identity')
@Controller('register')
export class RegisterHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Post()
  @Public({ rate: 'registrations' })
  @Operation({
    summary: 'Register an agent',
    description: 'The API key is shown in this answer and never again.',
    asks: [register],
    body: { schema: register.input, examples: { evm: registerBodyExample } },
    status: 201,
    answer: { schema: envelopeSchema(jsonSchemaOf(register.output)), example: success(registrationExample) },
  })
  async register(
    @Body(bodyOf(register.input)) body: InputOf<typeof register>,
    @CurrentContext() context: RequestContext,
  ) {
    return success(await this.bus.request(register, body, context));
  }
}
