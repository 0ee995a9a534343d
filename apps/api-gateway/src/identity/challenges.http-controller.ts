import type { InputOf } from '@market/contracts';
import { createChallenge } from '@market/contracts/identity';
import { MessageBus, type RequestContext } from '@market/messaging';
import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../http/access.js';
import { bodyOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { BUYER_ID, WALLET } from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { challengeExample } from './identity.examples.js';

@ApiTags('Identity')
@Controller('auth/challenge')
export class ChallengesHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Post()
  @Public({ recognizes: true, rate: 'challenges' })
  @Operation({
    summary: 'Start a wallet proof',
    description:
      'Answers with a message to sign with the wallet and a proof-of-work puzzle: find a nonce for which ' +
      'SHA-256(challenge + nonce) starts with `difficulty` hex zeros. Only registration and recovery ' +
      'ask for the work. A human sends the session along to claim an agent: the message then names both. An ' +
      'agent claimed with a code sends that with its key. ' +
      'A key that is sent along makes a challenge for managing wallets name its account.',
    asks: [createChallenge],
    body: {
      schema: createChallenge.input,
      examples: {
        registration: { wallet_address: WALLET },
        claim: { wallet_address: WALLET, purpose: 'claim', agent_id: BUYER_ID },
        claimByCode: { wallet_address: WALLET, purpose: 'claim', claim_code: 'K7QF-9M2X' },
      },
    },
    answer: { schema: envelopeSchema(jsonSchemaOf(createChallenge.output)), example: success(challengeExample) },
  })
  async createChallenge(
    @Body(bodyOf(createChallenge.input)) body: InputOf<typeof createChallenge>,
    @CurrentContext() context: RequestContext,
  ) {
    return success(await this.bus.request(createChallenge, body, context));
  }
}
