import { phrasesIn, readTextQuery, type TextQuery } from './text-query.js';

const word = (lexeme: string): TextQuery => ({ kind: 'word', lexeme });
const phrase = (...words: [string, number][]): TextQuery => ({ kind: 'phrase', words: words.map(([lexeme, place]) => ({ lexeme, place })) });

describe('a printed tsquery', () => {
  it.each<[string, TextQuery | undefined]>([
    ['', undefined],
    [`'fjord'`, word('fjord')],
    [`'it''s'`, word(`it's`)],
    [String.raw`'a\\b'`, word(String.raw`a\b`)],
    [`'a & ( b'`, word('a & ( b')],
    [`'a' & 'b' | 'c' & !'d'`, { kind: 'or', parts: [{ kind: 'and', parts: [word('a'), word('b')] }, { kind: 'and', parts: [word('c'), { kind: 'not', part: word('d') }] }] }],
    [`'a' & ( 'b' | 'c' )`, { kind: 'and', parts: [word('a'), { kind: 'or', parts: [word('b'), word('c')] }] }],
    [`!!'a'`, { kind: 'not', part: { kind: 'not', part: word('a') } }],
    [`'real-tim' <-> 'real' <-> 'time' & 'b'`, { kind: 'and', parts: [phrase(['real-tim', 0], ['real', 1], ['time', 2]), word('b')] }],
    [`!( 'state' <2> 'art' )`, { kind: 'not', part: phrase(['state', 0], ['art', 2]) }],
    [`'a' <-> ( 'b' <-> 'c' )`, phrase(['a', 0], ['b', 1], ['c', 2])],
    [`( 'a' <3> 'b' ) <2> ( 'c' <-> 'd' )`, phrase(['a', 0], ['b', 3], ['c', 5], ['d', 6])],
    [`'a' <-> ( 'b' | 'c' )`, { kind: 'and', parts: [word('a'), { kind: 'or', parts: [word('b'), word('c')] }] }],
  ])('%s is read', (printed, query) => {
    expect(readTextQuery(printed)).toEqual(query);
  });

  it.each([`'a' &`, `'a' 'b'`, `( 'a'`, `'a`, `a`, `'a':*`])('%s is refused', (printed) => {
    expect(() => readTextQuery(printed)).toThrow('in a form that is not known');
  });

  it('tells its phrases wherever they stand', () => {
    const query = readTextQuery(`'a' <-> 'b' | !( 'c' <-> 'd' ) & 'e'`)!;
    expect(phrasesIn(query).map((words) => words.map(({ lexeme }) => lexeme).join(' '))).toEqual(['a b', 'c d']);
  });
});
