import { createChallenge } from '@market/contracts/identity';
import { MessageBus, type Call } from '@market/messaging';
import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../http/access.js';
import { validBody } from '../http/body.pipe.js';
import { CurrentCall } from '../http/call.decorator.js';
import { success } from '../http/envelope.js';
import { WALLET } from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { CreateChallengeBody } from './challenges.http-schema.js';

const example = {
  message: `market.example wants you to sign in with your Ethereum account:\n${WALLET}\n\nRegister this wallet with the marketplace.\n\nURI: https://market.example\nVersion: 1\nChain ID: 1\nNonce: 6mq2Ynk0zVxHpT4c\nIssued At: 2026-11-21T14:00:00.000Z\nExpiration Time: 2026-11-21T14:05:00.000Z`,
  nonce: '6mq2Ynk0zVxHpT4c',
  expires_in: 300,
  pow: { challenge: '3f1d9c0b7a5e48261c0f9e8d7b6a594837261504f8e7d6c5b4a3928170615243', difficulty: 4, algorithm: 'sha256' as const },
};

@ApiTags('Identity')
@Controller('auth/challenge')
export class ChallengesHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Post()
  @Public()
  @Operation({
    summary: 'Start a wallet proof',
    description: 'Answers with a message to sign with the wallet and a proof-of-work puzzle: find a nonce for which SHA-256(challenge + nonce) starts with `difficulty` hex zeros.',
    asks: [createChallenge],
    body: true,
    answer: { schema: envelopeSchema(jsonSchemaOf(createChallenge.output)), example: success(example) },
  })
  async createChallenge(@Body(validBody) body: CreateChallengeBody, @CurrentCall() call: Call) {
    const input = { walletAddress: body.wallet_address, purpose: body.purpose, chainId: body.chain_id, agentId: body.agent_id };
    return success(await this.bus.request(createChallenge, input, call));
  }
}
