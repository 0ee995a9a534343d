import { id, text, wholeNumber } from '@market/contracts';
import { challengePurpose, createChallenge } from '@market/contracts/identity';
import { MessageBus, type RequestContext } from '@market/messaging';
import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { Public } from '../http/access.js';
import { bodyOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { BUYER_ID, WALLET } from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { challengeExample } from './identity.examples.js';

const createChallengeBody = z.object({
  wallet_address: text(1, 128).describe('Ethereum or Solana address.'),
  purpose: challengePurpose.describe('What the challenge will be good for.').default('registration'),
  chain_id: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional().describe('EVM chain to name in the message.'),
  agent_id: id.optional().describe('The agent the signature is about: required to claim it.'),
});

@ApiTags('Identity')
@Controller('auth/challenge')
export class ChallengesHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Post()
  @Public({ recognizes: true, rate: 'challenges' })
  @Operation({
    summary: 'Start a wallet proof',
    description:
      'Answers with a message to sign with the wallet and a proof-of-work puzzle: find a nonce for which SHA-256(challenge + nonce) starts with `difficulty` hex zeros. Only registration and recovery ask for the work. A human sends the session along to claim an agent: the message then names both. A key that is sent along makes a challenge for managing wallets name its account.',
    asks: [createChallenge],
    body: {
      schema: createChallengeBody,
      examples: {
        registration: { wallet_address: WALLET },
        claim: { wallet_address: WALLET, purpose: 'claim', agent_id: BUYER_ID },
      },
    },
    answer: { schema: envelopeSchema(jsonSchemaOf(createChallenge.output)), example: success(challengeExample) },
  })
  async createChallenge(
    @Body(bodyOf(createChallengeBody)) body: z.output<typeof createChallengeBody>,
    @CurrentContext() context: RequestContext,
  ) {
    const input = {
      walletAddress: body.wallet_address,
      purpose: body.purpose,
      chainId: body.chain_id,
      agentId: body.agent_id,
    };
    return success(await this.bus.request(createChallenge, input, context));
  }
}
