import { withParameters, type Columns } from './parameters.js';
import { sql } from './statement.js';

const columns = {
  id: ['uuid', ({ id }) => id],
  amount: ['bigint', ({ money }) => money ?? 0n],
} satisfies Columns<{ id: string; money?: bigint }>;

describe('withParameters', () => {
  it('numbers parameters in the order in which they are declared, and gives their values in the same', () => {
    const write = withParameters(
      { at: 'timestamptz', ids: 'uuid[]', lines: columns, owner: 'text' },
      ({ at, ids, lines, owner }) =>
        sql('test.parameters', [owner, at, ids, lines.columns, lines.table, lines.arrays.amount].join('; ')),
    );
    expect(write).toMatchObject({
      name: 'test.parameters',
      text: '$5::text; $1::timestamptz; $2::uuid[]; id, amount; unnest($3::uuid[], $4::bigint[]) AS lines (id, amount); $4::bigint[]',
    });
    const lines = [{ id: 'a', money: 1n }, { id: 'b' }];
    expect(write.values({ lines, owner: null, ids: ['x', 'y'], at: 'now' })).toEqual([
      'now',
      ['x', 'y'],
      ['a', 'b'],
      [1n, 0n],
      null,
    ]);
  });
});
