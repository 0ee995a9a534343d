import type { InputOf } from '@market/contracts';
import { createListing, createListingChallenge, removeListing, updateListing } from '@market/contracts/catalog';
import { checkPayable } from '@market/contracts/payments-ledger';
import { MessageBus, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Body, Controller, Delete, Param, Patch, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { RequireScope } from '../http/access.js';
import { bodyOf, changesOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { idempotentContext, markReplay } from '../http/idempotency.js';
import { uuidOr } from '../http/values.js';
import { LISTING_ID } from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import {
  createdListingExample,
  createListingExample,
  listingChallengeExample,
  listingDetailExample,
} from './listings.examples.js';

const updateListingBody = updateListing.input.omit({ listing_id: true });

const warnings = z
  .array(z.object({ code: z.literal('payout_wallet_missing'), message: z.string() }))
  .describe('What keeps buyers from paying; left out where nothing does.')
  .optional();
type Warning = NonNullable<z.output<typeof warnings>>[number];
const payoutWalletMissing = (networks: string[]): Warning => ({
  code: 'payout_wallet_missing',
  message:
    `No active wallet of yours with the capability payout is on ${networks.join(' or ')}, where sellers are paid; ` +
    'link one with POST /me/wallets',
});

/** The fingerprint of a creation excludes the proof; see `idempotentContext`. */
const LISTING_PROOFS = ['pow_nonce', 'challenge'];

/** Large enough for all texts at maximum length with every character escaped. */
const LISTING_BODY_LIMIT = 1024 * 1024;

@ApiTags('Catalog')
@Controller('listings')
export class SellListingsHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Post('challenge')
  @RequireScope('write')
  @Operation({
    summary: 'Get a listing proof-of-work',
    description:
      'Bound to the agent, good for one listing and ten minutes. Grows harder with the listings the agent made ' +
      'within the hour and the challenges it holds; one held too many takes the place of the oldest.',
    asks: [createListingChallenge],
    answer: {
      schema: envelopeSchema(jsonSchemaOf(createListingChallenge.output)),
      example: success(listingChallengeExample),
    },
  })
  async createListingChallenge(@CurrentContext() context: RequestContext) {
    return success(await this.bus.request(createListingChallenge, {}, context));
  }

  @Post()
  @RequireScope('write', { bodyLimitBytes: LISTING_BODY_LIMIT })
  @Operation({
    summary: 'Create a listing',
    description:
      'A per_call listing answers with its gateway signing secret, shown once. pow_nonce and challenge take no part ' +
      'in what an Idempotency-Key is compared by.',
    asks: [createListing, checkPayable],
    body: { schema: createListing.input, examples: { per_call: createListingExample } },
    idempotent: true,
    status: 201,
    answer: {
      schema: envelopeSchema(jsonSchemaOf(createListing.output.extend({ warnings }))),
      example: success(createdListingExample),
    },
  })
  async createListing(
    @Body(bodyOf(createListing.input)) body: InputOf<typeof createListing>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const context = idempotentContext(request, body, LISTING_PROOFS);
    const missing = await this.missingWallet(context);
    const listing = await this.bus.request(createListing, body, context);
    markReplay(context, reply);
    return success(withWarnings(listing, missing));
  }

  @Patch(':listingId')
  @RequireScope('write', { owners: true, bodyLimitBytes: LISTING_BODY_LIMIT })
  @Operation({
    summary: 'Change a listing',
    description:
      'Fields left out stay as they are; the slug stays in any case. A listing that becomes per_call answers with ' +
      'its gateway signing secret, shown once.',
    asks: [updateListing, checkPayable],
    body: { schema: updateListingBody, examples: { price: { pricing_amount: 0.05 }, withdraw: { status: 'draft' } } },
    idempotent: true,
    answer: {
      schema: envelopeSchema(jsonSchemaOf(updateListing.output.extend({ warnings }))),
      example: success(listingDetailExample),
    },
  })
  async updateListing(
    @Param('listingId') listingId: string,
    @Body(changesOf(updateListingBody)) body: z.output<typeof updateListingBody>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const id = uuidOr(listingId, () => refuse(updateListing, 'listing_not_found', {}));
    const context = idempotentContext(request, body);
    const missing = await this.missingWallet(context);
    const listing = await this.bus.request(updateListing, { listing_id: id, ...body }, context);
    markReplay(context, reply);
    return success(withWarnings(listing, missing));
  }

  @Delete(':listingId')
  @RequireScope('write')
  @Operation({
    summary: 'Remove a listing',
    description:
      'A draft is removed. An active listing is suspended, and comes back by way of draft: PATCH status draft, then active.',
    asks: [removeListing],
    answer: {
      schema: envelopeSchema(jsonSchemaOf(removeListing.output)),
      example: success({ id: LISTING_ID, deleted: true }),
    },
  })
  async removeListing(@Param('listingId') listingId: string, @CurrentContext() context: RequestContext) {
    const id = uuidOr(listingId, () => refuse(removeListing, 'listing_not_found', {}));
    return success(await this.bus.request(removeListing, { listing_id: id }, context));
  }

  /**
   * Called before anything is written, so that a failure here cannot lose an answer with a secret that is shown once. A
   * missing warning is better than a refusal if the ledger is unavailable.
   */
  private async missingWallet(context: RequestContext): Promise<string[]> {
    const { accountId: sellerId } = principalOf(context);
    const found = await this.bus.request(checkPayable, { sellerId }, context).catch(() => null);
    return found?.missing ?? [];
  }
}

const withWarnings = <L extends { pricing_amount: number }>(
  listing: L,
  missing: string[],
): L & { warnings?: Warning[] } =>
  missing.length === 0 || listing.pricing_amount === 0
    ? listing
    : { ...listing, warnings: [payoutWalletMissing(missing)] };
