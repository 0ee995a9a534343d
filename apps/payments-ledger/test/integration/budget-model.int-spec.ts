import { countOf, TEST_SEED } from '@market/test-servers/threats';
import type { Budget } from '@market/contracts';
import { getSpending } from '@market/contracts/payments-ledger';
import { newId, usdNumber } from '@market/kernel';
import { Refusal } from '@market/messaging';
import fc from 'fast-check';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import {
  as,
  budgetWith,
  newOrder,
  startLedger,
  type Authorized,
  type LedgerHarness,
  type Offered,
  type Order,
  type Outcome,
} from '../support/ledger-harness.js';
import { ledgerParts } from '../support/parts.js';
import { signed } from '../support/signed-payload.js';

const CALL = 250_000n;
const PAYMENTS = 6;
const runs = countOf('budgetModel');
const seed = TEST_SEED;

/**
 * The actions of one buyer with six calls of different prices, under two keys of one agent. Pairs of actions run
 * concurrently.
 */
interface Market {
  harness: LedgerHarness;
  keys: [Budget, Budget];
  agent: Budget;
  orders: Order[];
  offers: (Offered | undefined)[];
  claims: (Authorized | undefined)[];
  sweep(): Promise<void>;
}

type Step = (market: Market) => Promise<unknown>;

/** The names by which counterexamples are printed. */
const named = (name: string, run: Step): Step => Object.assign(run, { toString: () => name });

const budgetsOf = ({ keys, agent }: Market, key: number): Budget[] | undefined =>
  key === 2 ? [agent] : [keys[key]!, agent];
const orderOf = (market: Market, call: number, key: number): Order => ({
  ...market.orders[call]!,
  budgets: budgetsOf(market, key),
});

const quote = (call: number): Step =>
  named(`quote ${call}`, async (market) => {
    market.offers[call] = await market.harness.quote(market.orders[call]!);
  });
const pay = (call: number, key: number, outcome: Outcome): Step =>
  named(`pay ${call} under ${key}: ${outcome}`, async (market) => {
    const offered = market.offers[call];
    if (offered) await market.harness.pay(orderOf(market, call, key), offered, outcome);
  });
const claim = (call: number, key: number, bySignature: boolean): Step =>
  named(`claim ${call} under ${key}${bySignature ? ' by signature' : ''}`, async (market) => {
    const offered = market.offers[call];
    if (!offered) return;
    const authorization = bySignature ? await signed(offered, privateKeyToAccount(generatePrivateKey())) : undefined;
    const claimed = await market.harness.authorize(orderOf(market, call, key), offered, { authorization });
    if (claimed.outcome === 'authorized') market.claims[call] = claimed;
  });
const end = (call: number, what: 'settle' | 'release'): Step =>
  named(`${what} ${call}`, async (market) => {
    const claimed = market.claims[call];
    if (claimed) await market.harness[what](claimed);
  });
const timePasses = (call: number, column: 'expires_at' | 'retry_until' | 'in_use_until'): Step =>
  named(`${column} of ${call} passes`, async ({ harness, offers }) => {
    await harness.db.inspect(
      `UPDATE payments_ledger.payments SET ${column} = now() - interval '1 hour' WHERE id = $1 AND ${column} IS NOT NULL`,
      [offers[call]?.offer.payment_id ?? newId()],
    );
  });
const sweep = named('sweep', ({ sweep: run }) => run());

const call = fc.nat(PAYMENTS - 1);
const key = fc.nat(2);
const step: fc.Arbitrary<Step> = fc.oneof(
  call.map(quote),
  fc
    .tuple(call, key, fc.constantFrom<Outcome>('paid', 'paid', 'pending', 'underpaid', 'overpaid', 'late', 'failed'))
    .map((values) => pay(...values)),
  fc.tuple(call, key, fc.boolean()).map((values) => claim(...values)),
  fc.tuple(call, fc.constantFrom('settle' as const, 'release' as const)).map((values) => end(...values)),
  fc
    .tuple(call, fc.constantFrom('expires_at' as const, 'retry_until' as const, 'in_use_until' as const))
    .map((values) => timePasses(...values)),
  fc.constant(sweep),
);

/** The refusals that a step at the wrong time may get. Any other error fails the test. */
const EXPECTED = ['budget_exceeded', 'offer_not_payable', 'not_payable', 'payment_not_found', 'settlement_unknown'];
const orRefused = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => {
    if (!(error instanceof Refusal) || !EXPECTED.includes(error.reason)) throw error;
  });

describe('what is spent under budgets', () => {
  let harness: LedgerHarness;
  beforeAll(async () => {
    harness = await startLedger({ replicas: 2 });
  });
  // The end of the harness reconciles the books of all runs.
  afterAll(() => harness.stop());

  /** Compares the counted sums with the payments and with the limits. */
  async function expectInOrder({ keys, agent, orders }: Market): Promise<void> {
    const expectCounted = async (budget: Budget): Promise<void> => {
      const [{ day, month }, rows] = await Promise.all([
        harness.edge.request(getSpending, { budgetId: budget.id }, as(orders[0]!.buyer)),
        harness.db.inspect<{ spent: string }>(
          `SELECT coalesce(sum(gross_micros), 0) AS spent FROM payments_ledger.payments
           WHERE buyer_id = $1 AND reserved_on IS NOT NULL AND budgets @> jsonb_build_array(jsonb_build_object('id', $2::text))`,
          [orders[0]!.buyer, budget.id],
        ),
      ]);
      const spent = BigInt(rows[0]!.spent);
      expect([day.spent_usd, month.spent_usd]).toEqual([usdNumber(spent), usdNumber(spent)]);
      expect(spent <= BigInt(budget.perDayMicros!)).toBe(true);
    };
    await Promise.all([...keys, agent].map(expectCounted));
    const states = await harness.db.inspect<{ state: string; counted: boolean; signed: boolean; paid: boolean }>(
      `SELECT state, reserved_on IS NOT NULL AS counted, authorization_id IS NOT NULL AS signed, transaction_hash IS NOT NULL AS paid
       FROM payments_ledger.payments WHERE buyer_id = $1`,
      [orders[0]!.buyer],
    );
    for (const { state, counted } of states) {
      // Every payment in progress and every charged payment was claimed under a key of the agent.
      if (['completed', 'indeterminate'].includes(state)) expect([state, counted]).toEqual([state, true]);
      if (['expired', 'failed', 'cancelled', 'refund_due'].includes(state))
        expect([state, counted]).toEqual([state, false]);
    }
  }

  it(
    `is what can be charged or was, and never more than allowed, whatever happens at the same time (TEST_SEED=${seed})`,
    async () => {
      const { expirePayments } = ledgerParts(harness.db.database);
      const limit = fc.bigInt({ min: 0n, max: 12n }).map((calls) => (calls * CALL).toString());
      await fc.assert(
        fc.asyncProperty(
          fc.tuple(limit, limit, limit),
          fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 10, maxLength: 40, size: 'max' }),
          async (limits, rounds) => {
            const buyer = newId();
            const [first, second, agent] = limits.map((perDayMicros, n) =>
              budgetWith({ perDayMicros, of: n === 2 ? 'agent' : 'key' }),
            ) as [Budget, Budget, Budget];
            const market: Market = {
              harness,
              keys: [first, second],
              agent,
              orders: Array.from({ length: PAYMENTS }, (_, n) =>
                newOrder({ buyer, priceMicros: (CALL * BigInt(1 + (n % 3))).toString() }),
              ),
              offers: [],
              claims: [],
              sweep: () => expirePayments.run(),
            };
            for (const round of rounds) {
              await Promise.all(round.map((each) => orRefused(each(market))));
              await expectInOrder(market);
            }
          },
        ),
        { seed, numRuns: runs, endOnFailure: true },
      );
    },
    60_000 + runs * 60_000,
  );
});
