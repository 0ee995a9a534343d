import { splitFee } from '@market/kernel';
import fc from 'fast-check';
import { billableAnswer, failedAnswer } from './answer-json.js';

const moneyOf = (gross: bigint, bps: number) => {
  const { fee, net } = splitFee(gross, bps);
  return { grossMicros: gross.toString(), feeMicros: fee.toString(), netMicros: net.toString(), feeBps: bps };
};

describe('the gateway result', () => {
  it("holds the seller's JSON as it came and numbers that add up", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 13n }),
        fc.integer({ min: 0, max: 10_000 }),
        fc.json(),
        fc.integer({ min: 200, max: 299 }),
        (gross, bps, sellerJson, status) => {
          const text = billableAnswer('id', moneyOf(gross, bps), status, sellerJson);
          const result = JSON.parse(text) as {
            charged_amount: { amount_cents: number };
            fees: { fee_amount_cents: number; seller_receives_cents: number };
            seller_response: unknown;
            seller_status_code: number;
          };
          expect(text.endsWith(`,"seller_response":${sellerJson}}`)).toBe(true);
          expect(result.seller_response).toEqual(JSON.parse(sellerJson));
          expect(result.seller_status_code).toBe(status);
          const micros = (cents: number): bigint => BigInt(Math.round(cents * 10_000));
          expect(micros(result.charged_amount.amount_cents)).toBe(gross);
          expect(micros(result.fees.fee_amount_cents) + micros(result.fees.seller_receives_cents)).toBe(gross);
        },
      ),
    );
  });

  it('charges nothing for a failure, says why, and what to keep for the next attempt', () => {
    const failed = {
      kind: 'failed',
      reason: 'timeout',
      statusCode: 504,
      contact: 'broken',
      json: null,
      latencyMs: 30_000,
    } as const;
    expect(JSON.parse(failedAnswer('id', failed, 500, '2026-01-01T00:00:00.000Z'))).toEqual({
      request_id: 'id',
      billable: false,
      charged_amount: { amount_cents: 0, currency: 'USD' },
      fees: { fee_rate: 0.05, fee_amount_cents: 0, seller_receives_cents: 0 },
      seller_status_code: 504,
      error: { reason: 'timeout', message: 'The seller gave no complete answer in time; nothing was charged for it' },
      recovery: {
        next_action: 'retry_same_request',
        keep: ['X-Market-Relay-Request-Id', 'Idempotency-Key'],
        drop: [],
        retry_until: '2026-01-01T00:00:00.000Z',
      },
      seller_response: null,
    });
    const broken = {
      kind: 'failed',
      reason: 'seller_error',
      statusCode: 503,
      contact: 'broken',
      json: '{"busy": true}',
      latencyMs: 1,
    } as const;
    const recovery = '"recovery":{"next_action":"retry_after_delay","keep":[],"drop":[]}';
    const end = `nothing was charged for it"},${recovery},"seller_response":{"busy": true}}`;
    expect(failedAnswer('id', broken, 500)).toContain('"error":{"reason":"seller_error","message":"');
    expect(failedAnswer('id', broken, 500).slice(-end.length)).toBe(end);
  });

  it('asks for another request after a refusal, but where it speaks of the moment', () => {
    const nextAction = (statusCode: number): string => {
      const { recovery } = JSON.parse(
        failedAnswer(
          'id',
          { kind: 'failed', reason: 'seller_refused', statusCode, contact: 'answered', json: null, latencyMs: 1 },
          500,
          '2026-01-01T00:00:00.000Z',
        ),
      ) as { recovery: { next_action: string } };
      return recovery.next_action;
    };
    // The buyer's key is never forwarded, so these are refusals of the seller's own.
    expect([401, 407].map(nextAction)).toEqual(['choose_another_listing', 'choose_another_listing']);
    const retried = Array.from({ length: 100 }, (_, index) => 400 + index).filter((statusCode) =>
      nextAction(statusCode).startsWith('retry'),
    );
    expect(retried.map((statusCode) => [statusCode, nextAction(statusCode)])).toEqual(
      [408, 425, 429].map((statusCode) => [statusCode, 'retry_same_request']),
    );
  });
});
