import { NEXT_ACTIONS, type NextAction } from '@market/kernel';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { success } from '../http/envelope.js';
import { sendCacheable } from '../http/public-cache.js';
import { envelopeSchema, objectSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';

const DESCRIPTIONS: Record<NextAction, string> = {
  pay_and_retry:
    'Pay as the requirements in data say, then repeat the same request with data.payment.retry_headers; ' +
    'for a subscription, POST /payments/verify instead.',
  subscribe:
    'POST /subscribe with details.listing_id, pay the period that its answer asks for, then repeat the same request.',
  retry_after_delay: 'Wait as long as Retry-After says, then repeat the same request.',
  retry_same_request: 'Repeat the same request with the same Idempotency-Key.',
  retry_with_solana_payment_route:
    'Repeat with X-Market-Origin-Currency: SOL and a new Idempotency-Key; the route asked for does not carry so low a price.',
  choose_another_payment_route:
    'Repeat with another X-Market-Origin-Currency or X-Market-Origin-Chain-Id, or with none.',
  use_new_idempotency_key: 'This Idempotency-Key belongs to another request; send a new one.',
  request_new_payment_requirements:
    'Repeat without X-Market-Relay-Request-Id to be quoted anew; for a subscription, POST /subscribe again.',
  fix_request: 'The request itself is wrong; details say where. Repeating it unchanged fails again.',
  authenticate:
    'Send a valid API key (Authorization: Bearer am_k_…), or where humans are let in the token of POST /auth/session.',
  send_agent_id:
    'Name the agent that you act for in the query, agent_id=…; GET /me lists the agents that the session has claimed.',
  register: 'Register the wallet first: POST /auth/challenge, then POST /register.',
  solve_proof_of_work: 'Find a nonce for which SHA-256(challenge + nonce) starts with the given number of hex zeros.',
  request_new_challenge: 'Ask for a new challenge and prove the wallet again.',
  recover_key: 'The account exists; prove the wallet to get a fresh key.',
  create_key_with_scope: 'Use or create an API key that holds details.required_scope, or details.missing_scopes.',
  revoke_key: 'Revoke an API key that is not needed any more, DELETE /api-keys/{keyId}, then repeat the request.',
  change_budget:
    'A budget does not allow this. Wait until details.resets_at, or have it changed by the owner or with a key ' +
    'without a budget: PATCH /api-keys/{keyId} or PATCH /me/budget.',
  link_wallet: 'Link the wallet to the account first.',
  choose_another_listing: 'This listing cannot serve the request; look for another.',
  contact_seller: 'The seller has to do something.',
  contact_operator: 'The operator of the marketplace has to do something.',
  use_direct_gateway: 'Call POST /gateway/{listingId} and pay per call.',
  do_not_retry: 'Nothing you can send changes the answer.',
};

const actions = NEXT_ACTIONS.map((next_action) => ({ next_action, meaning: DESCRIPTIONS[next_action] }));

const schema = envelopeSchema({
  type: 'array',
  items: objectSchema({ next_action: { type: 'string', enum: NEXT_ACTIONS }, meaning: { type: 'string' } }),
});

@ApiTags('Platform')
@Controller('recovery-actions')
export class RecoveryActionsHttpController {
  @Get()
  @Public()
  @Operation({
    summary: 'All that error.recovery.next_action can say',
    description: 'A closed set.',
    cacheable: true,
    answer: { schema, example: success(actions.slice(0, 2)) },
  })
  listRecoveryActions(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    return sendCacheable(request, reply, success(actions));
  }
}
