import { readTsvector } from './tsvector.js';

function read(printed: string): Record<string, number[]> {
  const found: [string, number[]][] = [];
  readTsvector(printed, {
    lexeme(text, start, end) {
      found.push([text.slice(start, end), []]);
    },
    position(position) {
      found.at(-1)![1].push(position);
    },
  });
  return Object.fromEntries(found);
}

describe('a printed tsvector', () => {
  it.each<[string, Record<string, number[]>]>([
    ['', {}],
    [`'fjord':1`, { fjord: [1] }],
    [`'fjord':1A,12,16383C 'größe':2B`, { fjord: [1, 12, 16_383], größe: [2] }],
    [`'fjord' 'quilt'`, { fjord: [], quilt: [] }],
    [String.raw`'a''b':1 'c\\d':2 '''':3 'e:4':5`, { [`a'b`]: [1], [String.raw`c\d`]: [2], [`'`]: [3], 'e:4': [5] }],
  ])('%s is read', (printed, lexemes) => {
    expect(read(printed)).toEqual(lexemes);
  });
});
