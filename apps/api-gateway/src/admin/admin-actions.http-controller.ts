import type { OutputOf } from '@market/contracts';
import { holdListing } from '@market/contracts/catalog';
import { operatorsReason, revokeAnyKey, suspendAgent } from '@market/contracts/identity';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { Body, Controller, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { OperatorsOnly } from '../http/access.js';
import { bodyOf, bodyOrNoneOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { refOr, uuidOr } from '../http/values.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { heldListingExample, revokedKeyExample, suspendedAgentExample } from './admin.examples.js';

const withReason = z.strictObject({ reason: operatorsReason });
const mayHaveReason = withReason.partial();
/** The reason, or null if none is given. */
const reasonOf = ({ reason }: z.output<typeof mayHaveReason>): string | null => reason ?? null;
type Reason = z.output<typeof mayHaveReason>;

const why = { schema: withReason, examples: { copy: { reason: 'A copy of another listing.' } } };
const mayBeWhy = { schema: mayHaveReason, examples: { mended: { reason: 'Mended.' } }, optional: true };

const agentAnswer = { schema: envelopeSchema(jsonSchemaOf(suspendAgent.output)) };
const listingAnswer = { schema: envelopeSchema(jsonSchemaOf(holdListing.output)) };

/**
 * Actions of operators. Each is recorded in the transaction of the change; `changed` is false if the action changed
 * nothing.
 */
@ApiTags('Operators')
@Controller('admin')
export class AdminActionsHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Post('agents/:agentId/suspend')
  @OperatorsOnly()
  @Operation({
    summary: 'Suspend an agent',
    description:
      'Its keys open nothing and its wallets buy nothing from the next second on, and its listings leave the ' +
      'market. What was paid and not delivered is owed back when its time is over.',
    asks: [suspendAgent],
    body: why,
    answer: { ...agentAnswer, example: success(suspendedAgentExample) },
  })
  suspendAgent(
    @Param('agentId') id: string,
    @Body(bodyOf(withReason)) body: Reason,
    @CurrentContext() context: RequestContext,
  ) {
    return this.suspend(id, true, body, context);
  }

  @Post('agents/:agentId/release')
  @OperatorsOnly()
  @Operation({
    summary: 'Release a suspended agent',
    description: 'Its keys work again, and its listings come back to the market.',
    asks: [suspendAgent],
    body: mayBeWhy,
    answer: { ...agentAnswer, example: success({ ...suspendedAgentExample, is_suspended: false }) },
  })
  releaseAgent(
    @Param('agentId') id: string,
    @Body(bodyOrNoneOf(mayHaveReason)) body: Reason,
    @CurrentContext() context: RequestContext,
  ) {
    return this.suspend(id, false, body, context);
  }

  @Post('listings/:listingId/suspend')
  @OperatorsOnly()
  @Operation({
    summary: 'Suspend a listing',
    description: 'By uuid or slug. It leaves the market, and its owner cannot bring it back.',
    asks: [holdListing],
    body: why,
    answer: { ...listingAnswer, example: success(heldListingExample) },
  })
  suspendListing(
    @Param('listingId') ref: string,
    @Body(bodyOf(withReason)) body: Reason,
    @CurrentContext() context: RequestContext,
  ) {
    return this.hold(ref, 'hold', body, context);
  }

  @Post('listings/:listingId/release')
  @OperatorsOnly()
  @Operation({
    summary: 'Release a listing that an operator suspended',
    description:
      'By uuid or slug. It goes back to the state that it had; what its owner withdrew meanwhile stays off the market.',
    asks: [holdListing],
    body: mayBeWhy,
    answer: { ...listingAnswer, example: success({ ...heldListingExample, status: 'active', suspended_by: null }) },
  })
  releaseListing(
    @Param('listingId') ref: string,
    @Body(bodyOrNoneOf(mayHaveReason)) body: Reason,
    @CurrentContext() context: RequestContext,
  ) {
    return this.hold(ref, 'release', body, context);
  }

  @Post('api-keys/:keyId/revoke')
  @OperatorsOnly()
  @Operation({
    summary: "Revoke anyone's API key",
    description: 'It stops working everywhere within a second, for good.',
    asks: [revokeAnyKey],
    body: why,
    answer: { schema: envelopeSchema(jsonSchemaOf(revokeAnyKey.output)), example: success(revokedKeyExample) },
  })
  async revokeAnyKey(
    @Param('keyId') id: string,
    @Body(bodyOf(withReason)) body: Reason,
    @CurrentContext() context: RequestContext,
  ) {
    const keyId = uuidOr(id, () => refuse(revokeAnyKey, 'api_key_not_found', {}));
    return success(await this.bus.request(revokeAnyKey, { keyId, reason: reasonOf(body) }, context));
  }

  private async suspend(id: string, suspended: boolean, body: Reason, context: RequestContext) {
    const agentId = uuidOr(id, () => refuse(suspendAgent, 'agent_not_found', {}));
    return success(await this.bus.request(suspendAgent, { agentId, suspended, reason: reasonOf(body) }, context));
  }

  private async hold(
    listing: string,
    action: 'hold' | 'release',
    body: Reason,
    context: RequestContext,
  ): Promise<{ success: true; data: OutputOf<typeof holdListing> }> {
    const ref = refOr(listing, () => refuse(holdListing, 'listing_not_found', {}));
    return success(await this.bus.request(holdListing, { ref, action, reason: reasonOf(body) }, context));
  }
}
