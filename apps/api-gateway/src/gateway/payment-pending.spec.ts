import { pendingPaymentData } from './payment-pending.js';

describe('a payment that is not final', () => {
  it.each([
    'settlement_unknown',
    'call_in_progress',
    'payment_not_seen',
    'payment_not_final',
    'payment_unknown',
  ] as const)('says of %s to repeat the same request, and to sign and pay nothing again', (reason) => {
    const data = pendingPaymentData({ payment_id: 'p', retry_after_seconds: 3, reason });
    expect(data).toMatchObject({
      status: 'pending',
      payment_id: 'p',
      retry_after_seconds: 3,
      reason,
      recovery: { next_action: 'retry_same_request', sign_again: false },
    });
    expect(data.message).toMatch(/nothing again; repeat the same request/);
  });
});
