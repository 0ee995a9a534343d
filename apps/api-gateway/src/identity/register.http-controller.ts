import { text } from '@market/contracts';
import { register } from '@market/contracts/identity';
import { MessageBus, type RequestContext } from '@market/messaging';
import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { Public } from '../http/access.js';
import { bodyOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { workProofBody } from './wallet-proof.http-schema.js';
import { registerBodyExample, registrationExample } from './identity.examples.js';

const registerBody = workProofBody.extend({
  display_name: text(1, 100).optional().describe('How others see the agent.'),
});

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
    body: { schema: registerBody, examples: { evm: registerBodyExample } },
    status: 201,
    answer: { schema: envelopeSchema(jsonSchemaOf(register.output)), example: success(registrationExample) },
  })
  async register(
    @Body(bodyOf(registerBody)) body: z.output<typeof registerBody>,
    @CurrentContext() context: RequestContext,
  ) {
    const input = {
      walletAddress: body.wallet_address,
      signature: body.signature,
      nonce: body.nonce,
      powNonce: body.pow_nonce,
      displayName: body.display_name,
    };
    return success(await this.bus.request(register, input, context));
  }
}
