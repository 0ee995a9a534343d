import { countOf, TEST_SEED } from '@market/test-servers/threats';
import { authorizePayment, settlePayment } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { Refusal } from '@market/messaging';
import { verifyRequest } from '@market/sdk/seller';
import { eventually } from '@market/testing';
import fc from 'fast-check';
import { setTimeout as delay } from 'node:timers/promises';
import {
  BODY,
  resultOf,
  startGateway,
  type GatewayHarness,
  type Outcome,
  type Shop,
} from '../support/gateway-harness.js';
import { answer, type Behaviour } from '../support/test-seller.js';

const seed = TEST_SEED;
const IDS = countOf('chaos');
const RETRIES = 12;

const BEHAVIOURS: Behaviour[] = [
  () => `{"drawn":"${newId()}"}`,
  async () => {
    await delay(20);
    return `{"drawn":"${newId()}"}`;
  },
  answer(404, '{"error":"none"}'),
  answer(500, '{}'),
  answer(200, 'not json'),
  (_request, response) => void response.destroy(),
];

interface Retry {
  behaviour: number;
  pauseMs: number;
}
const plans = fc.array(
  fc.array(fc.record({ behaviour: fc.nat(BEHAVIOURS.length - 1), pauseMs: fc.nat(40) }), {
    minLength: RETRIES,
    maxLength: RETRIES,
  }),
  { minLength: IDS, maxLength: IDS },
);
const losses = fc.array(
  fc.record({
    contract: fc.constantFrom(authorizePayment, settlePayment),
    loss: fc.constantFrom('request' as const, 'answer' as const),
    forMs: fc.integer({ min: 1, max: 30 }),
    afterMs: fc.nat(30),
  }),
  { minLength: 12, maxLength: 12 },
);

describe('paid calls with two processes, sellers of every kind and a bus that loses messages', () => {
  let harness: GatewayHarness;
  beforeAll(async () => {
    harness = await startGateway({
      replicas: 2,
      env: { GATEWAY_RESUME_INTERVAL_MS: '50', GATEWAY_WAIT_FOR_RESULT_MS: '100' },
    });
  });
  afterAll(() => harness.stop());

  it(`end charged once with one answer for everyone, or are still good for a retry (TEST_SEED=${seed})`, async () => {
    const [plan, faults] = fc.sample(fc.tuple(plans, losses), { seed, numRuns: 1 })[0]!;
    const calls = await Promise.all(
      plan.map(async (retries) => {
        const [buyer, shop] = [newId(), await harness.open()];
        return { buyer, shop, retries, relayRequestId: await harness.buy(buyer, shop), answers: [] as string[] };
      }),
    );
    const disruption = (async () => {
      for (const { contract, loss, forMs, afterMs } of faults) {
        await delay(afterMs);
        const heal = harness.transport.lose(contract, loss);
        await delay(forMs);
        heal();
      }
    })();
    await Promise.all(
      calls.flatMap(({ buyer, shop, retries, relayRequestId, answers }) =>
        retries.map((retry) => attempt(buyer, shop, relayRequestId, retry, answers)),
      ),
    );
    await disruption;

    // The faults end: sellers work, and every buyer retries until its call is answered.
    for (const { buyer, shop, relayRequestId, answers } of calls) {
      shop.seller.behave(BEHAVIOURS[0]!);
      const final = await eventually(() => harness.answer(buyer, shop, BODY, { relayRequestId }), { withinMs: 10_000 });
      const result = resultOf(final);
      expect(result.billable).toBe(true);
      expect(new Set([...answers, final.dataJson]).size).toBe(1);
      expect(await harness.chargesOf(relayRequestId)).toBe(1);
      expect(
        new Set(shop.seller.requests.map((request) => verifyRequest({ ...request, secret: shop.secret }).requestId)),
      ).toEqual(new Set([result.request_id]));
      const attempts = shop.seller.requests.map(({ headers }) => Number(headers['x-market-attempt']));
      expect(new Set(attempts).size).toBe(attempts.length);
    }
  });

  /**
   * Makes one attempt and keeps a billable answer. The answers `pending` and `dependency_unavailable` are also correct.
   */
  const attempt = async (
    buyer: string,
    shop: Shop,
    relayRequestId: string,
    { behaviour, pauseMs }: Retry,
    answers: string[],
  ): Promise<void> => {
    await delay(pauseMs);
    shop.seller.behave(BEHAVIOURS[behaviour]!);
    const outcome: Outcome | Refusal = await harness
      .call(buyer, shop, BODY, { relayRequestId })
      .catch((error: unknown) => {
        if (error instanceof Refusal && error.reason === 'dependency_unavailable') return error;
        throw error;
      });
    if (outcome instanceof Refusal || outcome.outcome === 'pending') return;
    if (outcome.outcome !== 'answered') throw new Error(`a paid call was answered with ${JSON.stringify(outcome)}`);
    if (resultOf(outcome).billable) answers.push(outcome.dataJson);
  };
});
