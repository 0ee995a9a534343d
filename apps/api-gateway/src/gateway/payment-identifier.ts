const PATTERN = /^[A-Za-z0-9_-]{16,128}$/;
const NAME = 'payment-identifier';

/**
 * The extension `payment-identifier`: a client may name its purchase in the payload that pays, and hands in the same name
 * with another signature to get the same answer, charged once. It is an Idempotency-Key by another way.
 * Source: specs/extensions/payment_identifier.md of github.com/coinbase/x402.
 */
export const PAYMENT_IDENTIFIER = {
  [NAME]: {
    info: { required: false },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        required: { type: 'boolean' },
        id: { type: 'string', minLength: 16, maxLength: 128, pattern: '^[a-zA-Z0-9_-]+$' },
      },
      required: ['required'],
    },
  },
};

/** Undefined where a payload names none, null where what it names is no identifier. */
export function paymentIdentifierOf(payload: Record<string, unknown>): string | null | undefined {
  const id = (payload.extensions as Record<string, { info?: { id?: unknown } | null } | null> | null | undefined)?.[
    NAME
  ]?.info?.id;
  if (id === undefined) return undefined;
  return typeof id === 'string' && PATTERN.test(id) ? id : null;
}
