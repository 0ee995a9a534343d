import { exactRequirements, keylessRequirements } from '@market/contracts/payments-ledger';
import { applyDecorators } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { z } from 'zod';
import { guidanceLinks } from '../http/error-body.js';
import { jsonSchemaOf, objectSchema, type JsonSchema } from '../openapi/json-schema.js';
import { ApiAnswer } from '../openapi/operation.decorator.js';
import { ERROR_SCHEMA_NAME, EXAMPLE_URL } from '../openapi/refusal-responses.js';
import { paymentRequiredBody, type PaymentRequest } from './payment-required.js';
import { PAYMENT_AUTHORIZATION, problemOf } from './mpp.js';
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
  'WWW-Authenticate': {
    description:
      `The same as a challenge of the Machine Payments Protocol (evm/charge, an authorization): Payment id="…". Its ` +
      'credential comes in Authorization, or in Payment-Authorization where the challenge says so.',
    schema: { type: 'string' },
  },
});

const errorRef = { $ref: `#/components/schemas/${ERROR_SCHEMA_NAME}` };

/** For clients of the Machine Payments Protocol. */
const problemSchema: JsonSchema = {
  allOf: [
    errorRef,
    objectSchema({
      type: { type: 'string', format: 'uri', description: 'The kind of problem (RFC 9457).' },
      title: { type: 'string', description: 'The kind of problem, in words.' },
      status: { type: 'integer', description: 'Always 402.' },
      detail: { type: 'string', description: 'As error.message.' },
    }),
  ],
};

/**
 * The answer that asks to be paid.
 * @param mayLackData whether it may also ask for what is paid elsewhere.
 */
export const askedToPay = (
  data: JsonSchema,
  request: PaymentRequest<object>,
  description: string,
  { mayLackData = false } = {},
) => {
  const example = paymentRequiredBody(request, guidanceLinks(EXAMPLE_URL));
  const { data: _data, ...error } = example;
  return {
    schema: {
      allOf: [
        errorRef,
        objectSchema({ data: { ...data, description: 'What to pay, and how.' } }, mayLackData ? ['data'] : []),
      ],
    } as JsonSchema,
    example,
    alsoAs: {
      'application/problem+json': { schema: problemSchema, example: { ...problemOf(error.error), ...error } },
    },
    description,
  };
};

/** Documents the 402 of what is bought, and the header that answers it. */
export const ApiPaymentRequired = (asked: ReturnType<typeof askedToPay>, field: string): MethodDecorator =>
  applyDecorators(ApiAnswer(402, asked, paymentRequiredHeaderOf(field)), ApiPaymentSignature());

export const ApiPaymentSignature = (): MethodDecorator =>
  applyDecorators(
    ApiHeader({
      name: PAYMENT_SIGNATURE,
      required: false,
      description: 'An x402 version 2 payment of one of the accepts that were asked for, in base64.',
    }),
    ApiHeader({
      name: PAYMENT_AUTHORIZATION,
      required: false,
      description: 'A credential of the Machine Payments Protocol, where its challenge names this header.',
    }),
  );
