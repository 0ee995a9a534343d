import { guidanceLinks } from '../http/error-body.js';
import { callRequest } from './call-payment-required.js';
import { askedExample, x402Example } from './gateway.examples.js';
import { paymentRequiredBody } from './payment-required.js';

const LINKS = guidanceLinks('https://market.test');
const required = (more: object = {}) =>
  paymentRequiredBody(callRequest({ outcome: 'payment_required', payment: askedExample, ...more }, x402Example), LINKS);

describe('a call that has to be paid', () => {
  it('carries the payment beside the error', () => {
    expect(required()).toEqual({
      success: false,
      error: {
        code: 'PAYMENT_REQUIRED',
        message: expect.any(String),
        recovery: { next_action: 'pay_and_retry', keep: ['Idempotency-Key'], drop: [], links: LINKS },
      },
      data: { payment: { ...askedExample, x402: x402Example } },
    });
  });

  it('says that nothing was paid, on the same relay request id', () => {
    const { error } = required({ reason: 'unpaid' });
    expect(error).toMatchObject({
      details: { reason: 'unpaid' },
      recovery: { next_action: 'pay_and_retry', keep: ['Idempotency-Key', 'X-Market-Relay-Request-Id'], drop: [] },
    });
  });

  it('says what is missing of an incomplete payment, on the same relay request id', () => {
    const { error } = required({ reason: 'underpaid', received: '0.01', missing: '0.01' });
    expect(error.details).toEqual({ reason: 'underpaid', received: '0.01', missing: '0.01' });
    expect(error.recovery).toMatchObject({ keep: ['Idempotency-Key', 'X-Market-Relay-Request-Id'], drop: [] });
  });

  it('asks for another signature where the one sent does not pay, on the same offer', () => {
    const { error } = required({ rejection: { reason: 'invalid_exact_evm_signature', at: 'verification' } });
    expect(error.details).toEqual({ reason: 'invalid_exact_evm_signature' });
    expect(error.recovery).toMatchObject({
      next_action: 'pay_and_retry',
      keep: ['Idempotency-Key'],
      drop: ['PAYMENT-SIGNATURE'],
    });
  });

  it.each(['valid_after', 'valid_before'])('says whose clock may be off, and what it is here, where %s is', (bound) => {
    const reason = `invalid_exact_evm_payload_authorization_${bound}`;
    const { error } = required({ rejection: { reason, at: 'verification' } });
    expect(error.message).toMatch(/clock of whoever signs is/);
    expect(error.details).toEqual({ reason, server_time: expect.any(String) as string });
    expect(Math.abs(Date.parse(error.details!.server_time as string) - Date.now())).toBeLessThan(60_000);
  });

  it.each(['offer_expired', 'payment_failed', 'refund_due', 'refunded', 'cancelled'])(
    'asks for another payment after %s, without the headers of the old one',
    (reason) => {
      const { error } = required({ reason });
      expect(error.details).toEqual({ reason });
      expect(error.recovery).toEqual({
        next_action: 'request_new_payment_requirements',
        keep: ['Idempotency-Key'],
        drop: ['X-Market-Relay-Request-Id', 'X-Market-Payment-Scheme', 'X-Market-Payment-Network'],
        links: LINKS,
      });
    },
  );
});
