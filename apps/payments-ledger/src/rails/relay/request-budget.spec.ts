import fc from 'fast-check';
import { RequestBudget } from './request-budget.js';

describe('a budget of requests', () => {
  let now = 0;
  beforeEach(() => {
    now = 0;
  });
  const budget = (perMinute: number): RequestBudget => new RequestBudget(perMinute, () => now);

  it('gives as many as there are, and says when the next one comes free', () => {
    const two = budget(2);
    expect(two.take('', true)).toBe(0);
    now = 10_000;
    expect([two.take('', true), two.take('', true)]).toEqual([0, 50]);
    now = 59_999;
    expect(two.take('', true)).toBe(1);
    now = 60_000;
    expect([two.take('', true), two.take('', true)]).toEqual([0, 10]);
  });

  it('rests as long as it was told to, and never shorter because of a later word', () => {
    const some = budget(10);
    some.rest(30);
    some.rest(5);
    expect(some.take('', true)).toBe(30);
    now = 30_000;
    expect(some.take('', true)).toBe(0);
  });

  it('gives no more in any minute than it may, however it is asked, and at the time it named', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.integer({ min: 0, max: 30_000 }), { maxLength: 60 }),
        (perMinute, waits) => {
          now = 0;
          const asked = budget(perMinute);
          const given: number[] = [];
          for (const wait of waits) {
            now += wait;
            const seconds = asked.take('', true);
            if (seconds === 0) given.push(now);
            else {
              now += seconds * 1000;
              expect(asked.take('', true)).toBe(0);
              given.push(now);
            }
            expect(given.filter((at) => at > now - 60_000).length).toBeLessThanOrEqual(perMinute);
          }
        },
      ),
    );
  });

  it('gives one buyer a quarter, and all of them four fifths, until something is urgent', () => {
    const twenty = budget(20);
    const taken = (buyer: string, isUrgent = false): number => {
      let count = 0;
      while (twenty.take(buyer, isUrgent) === 0) count += 1;
      return count;
    };
    expect(['ada', 'bob', 'cem', 'dee'].map((buyer) => taken(buyer))).toEqual([5, 5, 5, 1]);
    expect(taken('ada', true)).toBe(4);
    now = 60_000;
    expect(taken('ada')).toBe(5);
  });
});
