import { exactRequirements, keylessRequirements } from '@market/contracts/payments-ledger';
import { applyDecorators } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { z } from 'zod';
import { guidanceLinks } from '../http/error-body.js';
import { jsonSchemaOf, objectSchema, type JsonSchema } from '../openapi/json-schema.js';
import { ApiAnswer } from '../openapi/operation.decorator.js';
import { ERROR_SCHEMA_NAME, EXAMPLE_URL } from '../openapi/refusal-responses.js';
import { paymentRequiredBody, type PaymentRequest } from './payment-required.js';
import { PAYMENT_SIGNATURE } from './payment-signature.js';

const resource = z.object({
  url: z.string(),
  description: z.string(),
  serviceName: z.string().optional(),
  mimeType: z.string(),
});

/** The content of the header PAYMENT-REQUIRED, which is base64. */
export const paymentRequired = z.object({
  x402Version: z.literal(2),
  error: z.string(),
  resource,
  accepts: z.array(exactRequirements),
  extensions: z.record(z.string(), z.record(z.string(), z.unknown())),
});
/** Of what is bought without a stored offer: each of the accepts carries its own. */
export const keylessRequired = paymentRequired.extend({ accepts: z.array(keylessRequirements) });
export const keylessRequiredSchema = jsonSchemaOf(keylessRequired);

/** @param field where the body has what the header has. */
export const paymentRequiredHeaderOf = (
  field: string,
): Record<string, { description: string; schema: JsonSchema }> => ({
  'PAYMENT-REQUIRED': {
    description: `What a stock x402 client needs of ${field}, in base64; absent where the route takes none.`,
    schema: { type: 'string' },
  },
});

/** The answer that asks to be paid. */
export const askedToPay = (data: JsonSchema, example: PaymentRequest<object>, description: string) => ({
  schema: {
    allOf: [
      { $ref: `#/components/schemas/${ERROR_SCHEMA_NAME}` },
      objectSchema({ data: { ...data, description: 'What to pay, and how.' } }),
    ],
  } as JsonSchema,
  example: paymentRequiredBody(example, guidanceLinks(EXAMPLE_URL)),
  description,
});

/** Documents the 402 of what is bought, and the header that answers it. */
export const ApiPaymentRequired = (asked: ReturnType<typeof askedToPay>, field: string): MethodDecorator =>
  applyDecorators(ApiAnswer(402, asked, paymentRequiredHeaderOf(field)), ApiPaymentSignature());

export const ApiPaymentSignature = (): MethodDecorator =>
  ApiHeader({
    name: PAYMENT_SIGNATURE,
    required: false,
    description: 'An x402 version 2 payment of one of the accepts that were asked for, in base64.',
  });
