import { register } from '@market/contracts/identity';
import { MessageBus, type Call } from '@market/messaging';
import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../http/access.js';
import { validBody } from '../http/body.pipe.js';
import { CurrentCall } from '../http/call.decorator.js';
import { success } from '../http/envelope.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { registerBodyExample, registrationExample } from './identity.examples.js';
import { RegisterBody } from './register.http-schema.js';

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
    body: { type: RegisterBody, examples: { evm: registerBodyExample } },
    status: 201,
    answer: { schema: envelopeSchema(jsonSchemaOf(register.output)), example: success(registrationExample) },
  })
  async register(@Body(validBody) body: RegisterBody, @CurrentCall() call: Call) {
    const input = { walletAddress: body.wallet_address, signature: body.signature, nonce: body.nonce, powNonce: body.pow_nonce, displayName: body.display_name };
    return success(await this.bus.request(register, input, call));
  }
}
