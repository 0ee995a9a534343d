import { usdAmount as usdNumber } from '@market/contracts';
import { balanceView, getBalance, payFees, usdAmount } from '@market/contracts/payments-ledger';
import type { OutputOf } from '@market/contracts';
import { microsFromUsdNumber } from '@market/kernel';
import { MessageBus, type RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Body, Controller, Get, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { signableSchema } from '../gateway/gateway.openapi.js';
import { PAYMENT_SIGNATURE, readPaymentSignature } from '../gateway/payment-signature.js';
import { headerOf, paymentRequiredOf, settledOf } from '../gateway/x402.js';
import { RequireScope } from '../http/access.js';
import { bodyOrNoneOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { guidanceLinks, recoveryOf } from '../http/error-body.js';
import { HTTP_BY_KIND } from '../http/http-status-by-kind.js';
import { envelopeSchema, jsonSchemaOf, objectSchema, type JsonSchema } from '../openapi/json-schema.js';
import { ApiAnswer, Operation } from '../openapi/operation.decorator.js';
import { ERROR_SCHEMA_NAME, EXAMPLE_URL } from '../openapi/refusal-responses.js';
import { balanceExample, feesPaidExample, feesRequiredExample } from './fees.examples.js';

type Outcome<Name extends OutputOf<typeof payFees>['outcome']> = Extract<OutputOf<typeof payFees>, { outcome: Name }>;

const payFeesBody = z.object({
  amount_usd: usdNumber
    .refine((usd) => usd > 0, { error: 'must be more than 0' })
    .meta({ minimum: 0.000001 })
    .optional()
    .describe('All that is due where it is left out.'),
});

const paidView = (paid: Outcome<'paid'>) => ({
  payment_id: paid.paymentId,
  status: 'completed' as const,
  amount: paid.amount,
  due: paid.due,
  transaction_hash: paid.transfer.transaction,
  network: paid.transfer.network,
  payer: paid.transfer.payer,
  completed_at: paid.completedAt,
});
const text: JsonSchema = { type: 'string' };
const amount = jsonSchemaOf(usdAmount);
const paidSchema = envelopeSchema(
  objectSchema({
    payment_id: text,
    status: { type: 'string', const: 'completed' },
    amount,
    due: { ...amount, description: 'What is left to be paid.' },
    transaction_hash: text,
    network: text,
    payer: text,
    completed_at: text,
  }),
);
const pendingView = ({ paymentId, retryAfterSeconds }: Outcome<'pending'>) => ({
  status: 'pending' as const,
  payment_id: paymentId,
  retry_after_seconds: retryAfterSeconds,
});
const pendingSchema = envelopeSchema(
  objectSchema({
    status: { type: 'string', const: 'pending' },
    payment_id: text,
    retry_after_seconds: { type: 'integer' },
  }),
);
const requiredSchema: JsonSchema = {
  allOf: [
    { $ref: `#/components/schemas/${ERROR_SCHEMA_NAME}` },
    objectSchema({ data: objectSchema({ due: amount, amount, x402: signableSchema }) }),
  ],
};

/** The balance of an account, and the fees that a seller owes for sales paid to its own wallet. */
@ApiTags('Books')
@Controller()
export class FeesHttpController {
  private readonly links;
  private readonly url: string;

  constructor(
    private readonly bus: MessageBus,
    @Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>,
  ) {
    this.links = guidanceLinks(publicUrl);
    this.url = `${publicUrl.replace(/\/+$/, '')}/api/v1/fees/payments`;
  }

  @Get('me/balance')
  @RequireScope('read', { owners: true })
  @Operation({
    summary: "The account's balance",
    description:
      'What was earned, what of it came to which wallet of the account itself and what the operator owes; ' +
      'fees that are due and paid; refunds. Micros are millionths of a US dollar, exactly.',
    asks: [getBalance],
    answer: { schema: envelopeSchema(jsonSchemaOf(balanceView)), example: success(balanceExample) },
  })
  async getBalance(@CurrentContext() context: RequestContext) {
    return success(await this.bus.request(getBalance, {}, context));
  }

  @Post('fees/payments')
  @RequireScope('write')
  @Operation({
    summary: 'Pay the fees that are due, with x402',
    description:
      'Answers 402 with what to sign, for all that is due or amount_usd of it; the repeat with PAYMENT-SIGNATURE ' +
      'is settled at once and booked. An x402 client does both. A signature pays once: sent again, it is ' +
      'answered as the first time.',
    asks: [payFees],
    body: { schema: payFeesBody, examples: { all: {}, some: { amount_usd: 0.05 } } },
    answer: { schema: paidSchema, example: success(paidView(feesPaidExample)) },
  })
  @ApiAnswer(
    202,
    {
      schema: pendingSchema,
      example: success(pendingView({ outcome: 'pending', paymentId: feesPaidExample.paymentId, retryAfterSeconds: 2 })),
      description: 'Whether it was settled is not known yet: repeat the same request, with the same signature.',
    },
    { 'Retry-After': { schema: { type: 'integer' } } },
  )
  @ApiAnswer(
    402,
    {
      schema: requiredSchema,
      example: feesRequiredBody(feesRequiredExample, undefined, guidanceLinks(EXAMPLE_URL)),
      description: 'Sign and repeat. PAYMENT-REQUIRED is data.x402 in base64.',
    },
    { 'PAYMENT-REQUIRED': { description: 'data.x402 in base64.', schema: { type: 'string' } } },
  )
  @ApiHeader({
    name: PAYMENT_SIGNATURE,
    required: false,
    description: 'An x402 version 2 payment of one of the accepts of the 402, in base64.',
  })
  async payFees(
    @Body(bodyOrNoneOf(payFeesBody)) { amount_usd }: z.output<typeof payFeesBody>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { authorization } = readPaymentSignature(request.headers) ?? {};
    const amountMicros = amount_usd === undefined ? undefined : microsFromUsdNumber(amount_usd)!.toString();
    const outcome = await this.bus.request(payFees, { amountMicros, authorization }, request.context);
    switch (outcome.outcome) {
      case 'paid':
        reply.header('payment-response', headerOf(settledOf(outcome.transfer)));
        return success(paidView(outcome));
      case 'pending':
        reply.status(202).header('retry-after', outcome.retryAfterSeconds);
        return success(pendingView(outcome));
      case 'payment_required':
        return this.askToPay(outcome, reply);
    }
  }

  private askToPay({ due, amount, accepts, reason }: Outcome<'payment_required'>, reply: FastifyReply) {
    const x402 = paymentRequiredOf(accepts, { url: this.url, description: 'Fees of the marketplace' }, reason);
    reply.status(402).header('payment-required', headerOf(x402));
    return feesRequiredBody({ due, amount, x402 }, reason, this.links);
  }
}

function feesRequiredBody(
  data: typeof feesRequiredExample,
  reason: string | undefined,
  links: ReturnType<typeof guidanceLinks>,
) {
  return {
    success: false as const,
    error: {
      code: HTTP_BY_KIND['payment-required'].code,
      message:
        reason === undefined
          ? 'Sign one of data.x402.accepts, then repeat the same request with PAYMENT-SIGNATURE; an x402 client does both'
          : 'The signed payment was not accepted and nothing was paid: sign one of data.x402.accepts of this answer',
      ...(reason !== undefined && { details: { reason } }),
      recovery: recoveryOf(
        { nextAction: 'pay_and_retry', ...(reason !== undefined && { drop: [PAYMENT_SIGNATURE] }) },
        links,
      ),
    },
    data,
  };
}
