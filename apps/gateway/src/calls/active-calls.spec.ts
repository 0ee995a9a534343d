import { ActiveCalls } from './active-calls.js';

const overloaded = { reason: 'overloaded', details: { retry_after_seconds: 1 } };

/** Work that ends when the test resolves or rejects it. */
function deferred() {
  let [resolve, reject] = [(_value: string) => {}, (_reason: Error) => {}];
  const promise = new Promise<string>((...both) => ([resolve, reject] = both));
  return { promise, resolve: (value: string) => resolve(value), reject: (reason: Error) => reject(reason) };
}

describe('ActiveCalls', () => {
  it('refuses one too many before it is begun, and takes the next once one has ended', async () => {
    const activeCalls = new ActiveCalls({ activeCallsMax: 2 });
    const [first, second] = [deferred(), deferred()];
    const results = [activeCalls.during(() => first.promise), activeCalls.during(() => second.promise)];
    let begun = false;
    await expect(activeCalls.during(async () => void (begun = true))).rejects.toMatchObject(overloaded);
    expect(begun).toBe(false);

    first.resolve('delivered');
    expect(await results[0]).toBe('delivered');
    await expect(activeCalls.during(async () => 'next')).resolves.toBe('next');

    second.reject(new Error('the database is away'));
    await expect(results[1]).rejects.toThrow('the database is away');
    await expect(Promise.all([activeCalls.during(async () => 1), activeCalls.during(async () => 2)])).resolves.toEqual([
      1, 2,
    ]);
  });

  it('gives the place of a call away while its seller works, and lets that call go on at its answer', async () => {
    const activeCalls = new ActiveCalls({ activeCallsMax: 1 });
    const [seller, other] = [deferred(), deferred()];
    const atSeller = activeCalls.during(() => activeCalls.whileAtSeller(() => seller.promise));
    const meanwhile = activeCalls.during(() => other.promise);
    seller.resolve('answer');
    expect(await atSeller).toBe('answer');
    await expect(activeCalls.during(async () => 'third')).rejects.toMatchObject(overloaded);
    other.resolve('other');
    expect(await meanwhile).toBe('other');
    await expect(activeCalls.during(async () => 'third')).resolves.toBe('third');
  });
});
