import { usdAmount as usdNumber } from '@market/contracts';
import { balanceView, getBalance, payFees, usdAmount } from '@market/contracts/payments-ledger';
import type { OutputOf } from '@market/contracts';
import { microsFromUsdNumber } from '@market/kernel';
import { MessageBus, type RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Body, Controller, Get, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { answerPending, ApiPaymentPending } from '../gateway/payment-pending.js';
import { askToPay, type PaymentRequest } from '../gateway/payment-required.js';
import { ApiPaymentRequired, askedToPay, keylessRequiredSchema } from '../gateway/payment-required.openapi.js';
import { readPayment } from '../gateway/mpp.js';
import { paymentRequiredOf, sendRequirements, sendSettlement } from '../gateway/x402.js';
import { RequireScope } from '../http/access.js';
import { bodyOrNoneOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { guidanceLinks } from '../http/error-body.js';
import { envelopeSchema, jsonSchemaOf, objectSchema, type JsonSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { balanceExample, feesPaidExample, feesRequiredExample } from './fees.examples.js';

type Outcome<Name extends OutputOf<typeof payFees>['outcome']> = Extract<OutputOf<typeof payFees>, { outcome: Name }>;

const payFeesBody = z.object({
  amount_usd: usdNumber
    .refine((usd) => usd > 0, { error: 'must be more than 0' })
    .meta({ minimum: 0.000001 })
    .optional()
    .describe('What to pay, in US dollars; all that is due where it is left out.'),
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
const amount = { ...jsonSchemaOf(usdAmount), description: 'What is paid now of the fees, in US dollars.' };
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
const requiredSchema = objectSchema({
  due: { ...amount, description: 'All fees that are due.' },
  amount,
  x402: keylessRequiredSchema,
});

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
    this.url = `${publicUrl}/api/v1/fees/payments`;
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
  @ApiPaymentPending(
    'Whether it was settled is not known yet: repeat the same request, with the same signature.',
    { payment_id: feesPaidExample.paymentId, retry_after_seconds: 2, reason: 'settlement_unknown' },
    { payment_id: text },
    ['settlement_unknown'],
  )
  @ApiPaymentRequired(askedToPay(requiredSchema, feesRequest(feesRequiredExample), 'Sign and repeat.'), 'data.x402')
  async payFees(
    @Body(bodyOrNoneOf(payFeesBody)) { amount_usd }: z.output<typeof payFeesBody>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { authorization, network, rejection } = readPayment(request, this.url);
    const amountMicros = amount_usd === undefined ? undefined : microsFromUsdNumber(amount_usd)!.toString();
    const outcome = await this.bus.request(payFees, { amountMicros, authorization }, request.context);
    switch (outcome.outcome) {
      case 'paid':
        sendSettlement(outcome.transfer, reply);
        return success(paidView(outcome));
      case 'pending':
        return answerPending(
          {
            payment_id: outcome.paymentId,
            retry_after_seconds: outcome.retryAfterSeconds,
            reason: 'settlement_unknown',
          },
          network,
          reply,
        );
      case 'payment_required':
        return this.askToPay({ ...outcome, reason: outcome.reason ?? rejection?.reason }, reply);
    }
  }

  private askToPay({ due, amount, accepts, reason }: Outcome<'payment_required'>, reply: FastifyReply) {
    const resource = { url: this.url, description: 'Fees of the marketplace' };
    const x402 = sendRequirements(paymentRequiredOf(accepts, resource, reason), reply);
    return askToPay(feesRequest({ due, amount, x402 }, reason), this.links, reply);
  }
}

function feesRequest<Data extends object>(data: Data, rejection?: string): PaymentRequest<Data> {
  return {
    message:
      'Sign one of data.x402.accepts, then repeat the same request with PAYMENT-SIGNATURE; an x402 client does both',
    rejectedMessage:
      'The signed payment was not accepted and nothing was paid: sign one of data.x402.accepts of this answer',
    rejection,
    hint: { nextAction: 'pay_and_retry' },
    data,
  };
}
