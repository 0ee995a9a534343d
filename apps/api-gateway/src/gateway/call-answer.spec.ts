import { guidanceLinks } from '../http/error-body.js';
import { paymentRequiredBody, pendingData } from './call-answer.js';
import { offerExample, x402Example } from './gateway.examples.js';

const LINKS = guidanceLinks('https://market.test');
const required = (more: object = {}) =>
  paymentRequiredBody({ outcome: 'payment_required', payment: offerExample, ...more }, x402Example, LINKS);

describe('a call that has to be paid', () => {
  it('carries the payment beside the error', () => {
    expect(required()).toEqual({
      success: false,
      error: {
        code: 'PAYMENT_REQUIRED',
        message: expect.any(String),
        recovery: { next_action: 'pay_and_retry', keep: ['Idempotency-Key'], drop: [], links: LINKS },
      },
      data: { payment: { ...offerExample, x402: x402Example } },
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

describe('a call whose payment is not final', () => {
  it('names the relay request id and the wait', () => {
    expect(
      pendingData({
        outcome: 'pending',
        relayRequestId: offerExample.relay_request_id,
        retryAfterSeconds: 3,
        reason: 'payment_not_seen',
      }),
    ).toEqual({
      status: 'pending',
      relay_request_id: offerExample.relay_request_id,
      retry_after_seconds: 3,
      reason: 'payment_not_seen',
    });
    expect(
      pendingData({ outcome: 'pending', retryAfterSeconds: 1, reason: 'call_in_progress' }).relay_request_id,
    ).toBeNull();
  });
});
