import { RELAY_REQUEST_ID_PATTERN, type OutputOf } from '@market/contracts';
import { paySandbox } from '@market/contracts/payments-ledger';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { Body, Controller, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { RequireScope } from '../http/access.js';
import { bodyOrNoneOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { PAYMENT_ID, RELAY_REQUEST_ID, TRANSACTION_HASH } from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';

const paySandboxBody = paySandbox.input.pick({ outcome: true });

export const sandboxPaymentExample: OutputOf<typeof paySandbox> = {
  payment_id: PAYMENT_ID,
  relay_request_id: RELAY_REQUEST_ID,
  status: 'verified',
  outcome: 'paid',
  received_amount: '0.02',
  currency: 'USDC',
  transaction_hash: TRANSACTION_HASH,
};

@ApiTags('Sandbox')
@Controller('sandbox/payments')
export class SandboxPaymentsHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Post(':relayRequestId/pay')
  @RequireScope('subscribe', { sandboxOnly: true, rate: 'none' })
  @Operation({
    summary: 'Pay an offer with pretended money',
    description: 'Exists in sandbox mode alone.',
    asks: [paySandbox],
    body: { schema: paySandboxBody, examples: { underpaid: { outcome: 'underpaid' } }, optional: true },
    answer: { schema: envelopeSchema(jsonSchemaOf(paySandbox.output)), example: success(sandboxPaymentExample) },
  })
  async paySandbox(
    @Param('relayRequestId') relayRequestId: string,
    @Body(bodyOrNoneOf(paySandboxBody)) { outcome }: z.output<typeof paySandboxBody>,
    @CurrentContext() context: RequestContext,
  ) {
    if (!RELAY_REQUEST_ID_PATTERN.test(relayRequestId)) throw refuse(paySandbox, 'payment_not_found', {});
    return success(await this.bus.request(paySandbox, { relay_request_id: relayRequestId, outcome }, context));
  }
}
