import { getProfile } from '@market/contracts/identity';
import { MessageBus, type Call } from '@market/messaging';
import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AnyKey } from '../http/access.js';
import { CurrentCall } from '../http/call.decorator.js';
import { success } from '../http/envelope.js';
import { BUYER_ID, EARLIER, KEY_ID, WALLET } from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';

const example = {
  id: BUYER_ID,
  display_name: 'Field Planner',
  wallet_address: WALLET,
  account_type: 'agent',
  role: 'both',
  is_verified: false,
  bio: null,
  avatar_url: null,
  website: null,
  created_at: EARLIER,
  wallets: [
    { id: KEY_ID, address: WALLET, chain_type: 'evm', label: null, is_primary: true, is_default_payer: true, is_default_payout: true, capabilities: ['login', 'recovery', 'payer', 'payout'], status: 'active', created_at: EARLIER },
  ],
};

@ApiTags('Identity')
@Controller('me')
export class ProfileHttpController {
  constructor(private readonly bus: MessageBus) {}

  /** One bus hop when the key was seen within a second, else two. */
  @Get()
  @AnyKey()
  @Operation({
    summary: "The caller's own profile",
    description: 'Also the way to verify a key before other work.',
    asks: [getProfile],
    answer: { schema: envelopeSchema(jsonSchemaOf(getProfile.output)), example: success(example) },
  })
  async getProfile(@CurrentCall() call: Call) {
    return success(await this.bus.request(getProfile, {}, call));
  }
}
