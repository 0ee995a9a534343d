import { isBillable, type SellerFailureReason } from './seller-outcome.js';

describe('isBillable', () => {
  it('is true for JSON with a status of 2xx or 4xx, and for no other', () => {
    const billable = Array.from({ length: 1_000 }, (_, statusCode) => statusCode).filter((statusCode) =>
      isBillable({ kind: 'answered', statusCode, json: '{}', latencyMs: 1 }),
    );
    const hundred = (first: number): number[] => Array.from({ length: 100 }, (_, index) => first + index);
    expect(billable).toEqual([...hundred(200), ...hundred(400)]);
  });

  it.each<SellerFailureReason>(['unreachable', 'timeout', 'not_json', 'too_large', 'too_deep', 'redirect', 'protocol_error', 'forbidden_address'])(
    'is false for a failure by %s, whatever its status',
    (reason) => expect(isBillable({ kind: 'failed', reason, statusCode: 404, json: null, latencyMs: 1 })).toBe(false),
  );
});
