const PATTERN = /^[A-Za-z0-9_-]{16,128}$/;
export const PAYMENT_IDENTIFIER_NAME = 'payment-identifier';

/**
 * The extension `payment-identifier`: a client may name its purchase in the payment payload. If it sends the same name
 * with another signature, it gets the same answer and is charged once. The name is used as the Idempotency-Key.
 * Source: specs/extensions/payment_identifier.md of github.com/coinbase/x402.
 */
export const PAYMENT_IDENTIFIER = {
  [PAYMENT_IDENTIFIER_NAME]: {
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

/** Returns undefined if the payload has no identifier, and null if the identifier is invalid. */
export function paymentIdentifierOf(payload: Record<string, unknown>): string | null | undefined {
  const id = (payload.extensions as Record<string, { info?: { id?: unknown } | null } | null> | null | undefined)?.[
    PAYMENT_IDENTIFIER_NAME
  ]?.info?.id;
  if (id === undefined) return undefined;
  return typeof id === 'string' && PATTERN.test(id) ? id : null;
}
