import { countOf, TEST_SEED } from '@market/test-servers/threats';
import * as fc from 'fast-check';
import { refuseSellerAuthHeader } from './seller-auth-header.js';

describe('refuseSellerAuthHeader', () => {
  it.each([
    ['Authorization', 'Bearer abc.def-ghi_123=='],
    ['X-API-Key', 'k'],
    ['x-seller_token', `"quoted; v=1"`],
    ['Api-Key', 'a'.repeat(4_096)],
  ])('admits %s: %s', (name, value) => {
    expect(refuseSellerAuthHeader({ name, value })).toBeNull();
  });

  it.each(['', ' ', 'X Api', 'X-Api:', 'X-Api\r\n', 'X-Äpi', 'X(Api)', '\u0000', 'a'.repeat(65)])(
    'refuses the name %j',
    (name) => {
      expect(refuseSellerAuthHeader({ name, value: 'v' })).toBe('invalid_name');
    },
  );

  it.each([
    'Host',
    'content-length',
    'Content-Type',
    'CONNECTION',
    'Transfer-Encoding',
    'Keep-Alive',
    'Upgrade',
    'TE',
    'Trailer',
    'Expect',
    'Cookie',
    'X-Market-Signature',
    'x-market-anything',
    'Webhook-Id',
    'webhook-signature',
    'Accept-Encoding',
    'User-Agent',
    'traceparent',
    'Proxy-Authorization',
    'X-Forwarded-For',
    'Forwarded',
    'Via',
  ])('keeps the name %s to itself', (name) => {
    expect(refuseSellerAuthHeader({ name, value: 'v' })).toBe('reserved_name');
  });

  it.each(['', ' ', ' a', 'a ', 'a\r\nX-B: c', 'a\nb', 'a\u0000', 'a\tb', 'é', '😀', 'a'.repeat(4_097)])(
    'refuses the value %j',
    (value) => {
      expect(refuseSellerAuthHeader({ name: 'X-Api-Key', value })).toBe('invalid_value');
    },
  );

  it('admits nothing that could end a header line', () => {
    const text = fc.string({ unit: 'binary', maxLength: 12 });
    fc.assert(
      fc.property(text, text, (name, value) => {
        if (refuseSellerAuthHeader({ name, value }) !== null) return;
        expect(`${name}: ${value}`).toMatch(/^[!-~]+: [ -~]+$/);
      }),
      { seed: TEST_SEED, numRuns: countOf('headerValues') },
    );
  });
});
