import type { InputOf } from '@market/contracts';
import { getWallet, linkedWallet, linkWallet, listWallets, updateWallet } from '@market/contracts/identity';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { Body, Controller, Get, Param, Patch, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { RequireScope } from '../http/access.js';
import { bodyOf, changesOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { uuidOr } from '../http/values.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { linkedWalletExample, linkWalletBodyExample, updateWalletBodyExample } from './identity.examples.js';

const updateWalletBody = updateWallet.input.omit({ wallet_id: true });

@ApiTags('Identity')
@Controller('me/wallets')
export class WalletsHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Get()
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'List the wallets of the account',
    description: 'The primary wallet first, then the oldest.',
    asks: [listWallets],
    answer: {
      schema: envelopeSchema({ type: 'array', items: jsonSchemaOf(linkedWallet) }),
      example: success([linkedWalletExample]),
    },
  })
  async listWallets(@CurrentContext() context: RequestContext) {
    const { wallets } = await this.bus.request(listWallets, {}, context);
    return success(wallets);
  }

  @Post()
  @RequireScope('write')
  @Operation({
    summary: 'Link another wallet',
    description:
      'Both wallets sign a challenge of purpose wallet_link. Whether the new one may recover the account is for its owner to say.',
    asks: [linkWallet],
    body: { schema: linkWallet.input, examples: { solana: linkWalletBodyExample } },
    status: 201,
    answer: { schema: envelopeSchema(jsonSchemaOf(linkWallet.output)), example: success(linkedWalletExample) },
  })
  async linkWallet(
    @Body(bodyOf(linkWallet.input)) body: InputOf<typeof linkWallet>,
    @CurrentContext() context: RequestContext,
  ) {
    return success(await this.bus.request(linkWallet, body, context));
  }

  @Get(':id')
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'One wallet of the account',
    description: 'Also one that is disabled.',
    asks: [getWallet],
    answer: { schema: envelopeSchema(jsonSchemaOf(getWallet.output)), example: success(linkedWalletExample) },
  })
  async getWallet(@Param('id') walletId: string, @CurrentContext() context: RequestContext) {
    const id = uuidOr(walletId, () => refuse(getWallet, 'wallet_not_found', {}));
    return success(await this.bus.request(getWallet, { wallet_id: id }, context));
  }

  @Patch(':id')
  @RequireScope('write')
  @Operation({
    summary: 'Change a wallet',
    description:
      'A wallet with the capability recovery signs a challenge of purpose wallet_update. What a wallet ' +
      'was (primary, default payer, default payout) and can be no more goes to the oldest wallet that can. ' +
      'Refused where the account would be left without an active recovery wallet.',
    asks: [updateWallet],
    body: { schema: updateWalletBody, examples: { payout: updateWalletBodyExample } },
    answer: { schema: envelopeSchema(jsonSchemaOf(updateWallet.output)), example: success(linkedWalletExample) },
  })
  async updateWallet(
    @Param('id') walletId: string,
    @Body(changesOf(updateWalletBody)) body: z.output<typeof updateWalletBody>,
    @CurrentContext() context: RequestContext,
  ) {
    const id = uuidOr(walletId, () => refuse(updateWallet, 'wallet_not_found', {}));
    return success(await this.bus.request(updateWallet, { wallet_id: id, ...body }, context));
  }
}
