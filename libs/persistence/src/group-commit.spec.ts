import fc from 'fast-check';
import { UnavailableError } from '@market/kernel';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { GroupCommit } from './group-commit.js';

type Outcome = 'good' | 'refused' | 'poison';

/** Writes like a database: the whole group, or nothing if one item is invalid. */
function writerOf(groups: string[][]): (items: { id: string; outcome: Outcome }[]) => Promise<(string | Error)[]> {
  return async (items) => {
    groups.push(items.map((item) => item.id));
    await nextTurn();
    const poison = items.find((item) => item.outcome === 'poison');
    if (poison) throw new Error(`poison ${poison.id}`);
    return items.map((item) => (item.outcome === 'refused' ? new Error(`refused ${item.id}`) : `written ${item.id}`));
  };
}

describe('GroupCommit', () => {
  it('gives each item its own result, whatever stands beside it', async () => {
    const outcomes = fc.array(
      fc.record({
        outcome: fc.constantFrom<Outcome>('good', 'good', 'good', 'refused', 'poison'),
        turnsBefore: fc.nat(3),
      }),
      { maxLength: 60 },
    );
    await fc.assert(
      fc.asyncProperty(
        outcomes,
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 3 }),
        async (items, maxSize, lanes) => {
          const groups: string[][] = [];
          const commit = new GroupCommit(writerOf(groups), { maxSize, lanes });
          const results = await Promise.allSettled(
            items.map(async ({ outcome, turnsBefore }, index) => {
              for (let turn = 0; turn < turnsBefore; turn += 1) await nextTurn();
              return commit.submit({ id: `${index}`, outcome });
            }),
          );
          results.forEach((result, index) => {
            const { outcome } = items[index]!;
            if (outcome === 'good') expect(result).toEqual({ status: 'fulfilled', value: `written ${index}` });
            else expect((result as PromiseRejectedResult).reason).toEqual(new Error(`${outcome} ${index}`));
          });
          expect(groups.every((group) => group.length <= maxSize)).toBe(true);
        },
      ),
    );
  });

  it('writes together what arrives while a write is on its way, and a lone item after two turns', async () => {
    const groups: string[][] = [];
    const commit = new GroupCommit(writerOf(groups));
    const first = commit.submit({ id: 'a', outcome: 'good' });
    for (let turn = 0; turn < 2; turn += 1) await nextTurn();
    expect(groups).toEqual([['a']]);
    const later = ['b', 'c', 'd'].map((id) => commit.submit({ id, outcome: 'good' }));
    await Promise.all([first, ...later]);
    expect(groups).toEqual([['a'], ['b', 'c', 'd']]);
  });

  it('never has more writes under way than lanes', async () => {
    let running = 0;
    let most = 0;
    const commit = new GroupCommit<number, number>(
      async (items) => {
        running += 1;
        most = Math.max(most, running);
        await nextTurn();
        running -= 1;
        return items;
      },
      { maxSize: 1, lanes: 2 },
    );
    await Promise.all(Array.from({ length: 20 }, (_, n) => commit.submit(n)));
    expect(most).toBe(2);
  });

  it('writes items with the same key in different groups, in the order of their arrival', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 40 }),
        fc.integer({ min: 1, max: 5 }),
        async (keys, maxSize) => {
          const written: number[][] = [];
          const commit = new GroupCommit<number, number>(
            async (items) => {
              written.push(items);
              await nextTurn();
              return items;
            },
            { maxSize, keyOf: (index) => keys[index]! },
          );
          const indexes = keys.map((_, index) => index);
          expect(await Promise.all(indexes.map((index) => commit.submit(index)))).toEqual(indexes);
          for (const group of written) {
            expect(group.length).toBeLessThanOrEqual(maxSize);
            expect(new Set(group.map((index) => keys[index])).size).toBe(group.length);
          }
          for (const key of keys) {
            const inOrder = indexes.filter((index) => keys[index] === key);
            expect(written.flat().filter((index) => keys[index] === key)).toEqual(inOrder);
          }
        },
      ),
    );
  });

  it('fails a whole group at once in an outage, instead of waiting for it once an item', async () => {
    let writes = 0;
    const commit = new GroupCommit<number, number>(async () => {
      writes += 1;
      throw new UnavailableError('PostgreSQL');
    });
    const results = await Promise.allSettled([1, 2, 3].map((n) => commit.submit(n)));
    expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(writes).toBe(1);
  });
});
