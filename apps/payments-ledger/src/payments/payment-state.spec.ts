import { countOf, TEST_SEED } from '@market/test-servers/threats';
import fc from 'fast-check';
import {
  isLive,
  nextState,
  LIVE_STATES,
  mayMove,
  PAYMENT_STATES,
  TRANSITIONS,
  UNPAID_STATES,
  type Observation,
  type ObservedOffer,
} from './payment-state.js';

const offers: fc.Arbitrary<ObservedOffer> = fc.record({
  state: fc.constantFrom(...PAYMENT_STATES),
  amountBaseUnits: fc.bigInt({ min: 1n, max: 20n }),
  expired: fc.boolean(),
});
const observations: fc.Arbitrary<Observation> = fc.record({
  receivedBaseUnits: fc.bigInt({ min: 0n, max: 40n }),
  arriving: fc.boolean(),
  transactionHash: fc.constantFrom(null, '0xabc'),
  failed: fc.boolean(),
});

describe('the states of a payment', () => {
  it('are each reached from pending, and none is left once money is charged or refunded', () => {
    const reached = new Set<string>(['pending']);
    for (let before = 0; before < reached.size;) {
      before = reached.size;
      for (const state of PAYMENT_STATES)
        if (reached.has(state)) TRANSITIONS[state].forEach((next) => reached.add(next));
    }
    expect([...reached].sort()).toEqual([...PAYMENT_STATES].sort());
    expect(PAYMENT_STATES.filter((state) => TRANSITIONS[state].length === 0)).toEqual(['completed', 'refunded']);
  });

  it('hold a place for one offer only as long as it can still be paid or delivered', () => {
    for (const state of PAYMENT_STATES) {
      const canBeDelivered = state === 'verified' || mayMove(state, 'verified');
      expect(isLive(state)).toBe(canBeDelivered);
    }
    expect(LIVE_STATES).toHaveLength(4);
  });
});

describe('nextState', () => {
  it('moves a payment only as the table says, whatever a rail reports', () => {
    fc.assert(
      fc.property(offers, observations, (offer, observation) => {
        const { state } = nextState(offer, observation);
        expect(state === offer.state || mayMove(offer.state, state)).toBe(true);
      }),
      { seed: TEST_SEED, numRuns: countOf('states') },
    );
  });

  it('never forgets money that is final: it verifies the payment, or is missing the rest, or is owed back', () => {
    fc.assert(
      fc.property(offers, observations, (offer, observation) => {
        fc.pre(['pending', 'underpaid', ...UNPAID_STATES].includes(offer.state) && observation.receivedBaseUnits > 0n);
        const { state, surplusBaseUnits } = nextState(offer, observation);
        const covered = observation.receivedBaseUnits >= offer.amountBaseUnits;
        expect(state).toBe(
          UNPAID_STATES.includes(offer.state)
            ? 'refund_due'
            : covered
              ? 'verified'
              : offer.expired && !observation.arriving
                ? 'refund_due'
                : 'underpaid',
        );
        expect(surplusBaseUnits).toBe(
          state === 'verified' ? observation.receivedBaseUnits - offer.amountBaseUnits : 0n,
        );
      }),
      { numRuns: 5_000 },
    );
  });

  it('ends no offer while money for it is on its way', () => {
    fc.assert(
      fc.property(offers, observations, (offer, observation) => {
        fc.pre(isLive(offer.state));
        expect(['expired', 'failed', 'refund_due', 'cancelled']).not.toContain(
          nextState(offer, { ...observation, arriving: true }).state,
        );
      }),
      { numRuns: 2_000 },
    );
  });

  it('changes nothing about a payment that is paid or owed back', () => {
    for (const state of ['verified', 'completed', 'refund_due', 'refunded'] as const) {
      fc.assert(
        fc.property(observations, (observation) =>
          expect(nextState({ state, amountBaseUnits: 5n, expired: true }, observation)).toEqual({
            state,
            surplusBaseUnits: 0n,
          }),
        ),
      );
    }
  });
});
