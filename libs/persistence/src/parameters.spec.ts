import { withParameters } from './parameters.js';
import { sql } from './statement.js';

describe('withParameters', () => {
  it('numbers parameters in the order in which they are declared, and gives their values in the same', () => {
    const write = withParameters(
      { at: 'timestamptz', ids: 'uuid[]', lines: 'id uuid,\n  amount bigint', owner: 'text' },
      ({ at, ids, lines, owner }) =>
        sql('test.parameters', [owner, at, ids, lines.columns, lines.table, lines.arrays.amount].join('; ')),
    );
    expect(write).toMatchObject({
      name: 'test.parameters',
      text: '$5::text; $1::timestamptz; $2::uuid[]; id, amount; unnest($3::uuid[], $4::bigint[]) AS lines (id, amount); $4::bigint[]',
    });
    const lines = [
      { amount: 1n, id: 'a' },
      { amount: null, id: 'b' },
    ];
    expect(write.values({ lines, owner: null, ids: ['x', 'y'], at: 'now' })).toEqual([
      'now',
      ['x', 'y'],
      ['a', 'b'],
      [1n, null],
      null,
    ]);
  });
});
