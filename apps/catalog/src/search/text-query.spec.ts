import { phrasesIn, readTextQuery, type TextQuery } from './text-query.js';

const word = (lexeme: string): TextQuery => ({ kind: 'word', lexeme });
const phrase = (tsquery: string, ...lexemes: string[]): TextQuery => ({ kind: 'phrase', tsquery, lexemes });

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
    [`'real-tim' <-> 'real' <-> 'time' & 'b'`, { kind: 'and', parts: [phrase(`'real-tim' <-> 'real' <-> 'time'`, 'real-tim', 'real', 'time'), word('b')] }],
    [`!( 'state' <2> 'art' )`, { kind: 'not', part: phrase(`'state' <2> 'art'`, 'state', 'art') }],
    [`'a' <-> ( 'b' <-> 'c' )`, phrase(`'a' <-> ( 'b' <-> 'c' )`, 'a', 'b', 'c')],
    [`'a' <-> ( 'b' | 'c' )`, phrase(`'a' <-> ( 'b' | 'c' )`)],
  ])('%s is read', (printed, query) => {
    expect(readTextQuery(printed)).toEqual(query);
  });

  it.each([`'a' &`, `'a' 'b'`, `( 'a'`, `'a`, `a`, `'a':*`])('%s is refused', (printed) => {
    expect(() => readTextQuery(printed)).toThrow('in a form that is not known');
  });

  it('tells its phrases wherever they stand', () => {
    const query = readTextQuery(`'a' <-> 'b' | !( 'c' <-> 'd' ) & 'e'`)!;
    expect(phrasesIn(query).map(({ tsquery }) => tsquery)).toEqual([`'a' <-> 'b'`, `'c' <-> 'd'`]);
  });
});
