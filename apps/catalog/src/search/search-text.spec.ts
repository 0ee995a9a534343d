import { searchText } from './search-text.js';

describe('what is searched for', () => {
  it.each([
    [undefined, undefined],
    ['', undefined],
    [' \n\t ', undefined],
    [' weather ', 'weather'],
    ['"exact phrase" -not or-this', '"exact phrase" -not or-this'],
    ['-'.repeat(200), '-'.repeat(16)],
    ['a '.repeat(100), 'a '.repeat(32).trim()],
    ['a-b_c.d '.repeat(9), 'a-b_c.d '.repeat(8).trim()],
    [`${'-'.repeat(20)}a-b`, `${'-'.repeat(16)}    a b`],
  ])('in %j is %j', (q, text) => {
    expect(searchText(q)).toBe(text);
  });
});
