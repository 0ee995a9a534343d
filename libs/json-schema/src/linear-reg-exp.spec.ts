import * as fc from 'fast-check';
import { LinearRegExp, problemOfPattern } from './linear-reg-exp.js';

const TEXTS = [
  ...[
    '',
    'a',
    'A',
    'z',
    'é',
    'ß',
    '_',
    '-',
    '/',
    '.',
    '\\',
    '[',
    ']',
    ']x',
    '^',
    '$',
    '{',
    '0',
    '7',
    '42',
    '-1.50',
    '1e5',
    '007',
  ],
  ...[
    'a\n',
    '\na',
    'a\nb',
    '\n',
    '\r',
    '\u2028',
    '\t',
    '\v',
    '\b',
    ' ',
    '\u00a0',
    '\ufeff',
    '\u3000',
    '\u180e',
    '\u0085',
    '\0',
  ],
  ...[
    'foo',
    'FOO',
    'foo bar',
    'foobar',
    'barfoo',
    'foo-bar',
    'a-b_c.d',
    'aaa',
    'aaaaaa',
    'ab',
    'abab',
    'aXb',
    ' a ',
    'a b',
  ],
  ...[
    'ada@example.com',
    'ada+b@mail.example.co.uk',
    'ada@',
    'not an email',
    'https://example.com/a?b=c#d',
    'ftp://example.com',
  ],
  ...[
    '2026-11-27',
    '2026-13-45',
    '2026-11-27T10:20:30Z',
    '2026-11-27T10:20:30.5+01:00',
    '10:20',
    '27.11.2026',
    'P1DT2H',
  ],
  ...[
    '123e4567-e89b-12d3-a456-426614174000',
    '123E4567-E89B-12D3-A456-426614174000',
    '#fff',
    '#FFAA00',
    '#ff',
    '0x1f',
    'deadbeef',
  ],
  ...[
    'CH',
    'CHE',
    'ch',
    'de-CH',
    'zh-Hant-TW',
    'USD',
    'usd',
    '+41441234567',
    '044 123 45 67',
    '8001',
    '127.0.0.1',
    '1.2.3',
    'v1.2.3-rc.1',
  ],
  ...[
    '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045',
    'CH93 0076 2011 6238 5295 7',
    'data:image/png;base64,iVBORw0KGgo=',
    'iVBORw0KGgo=',
  ],
  ...[
    '中文',
    '漢字かな',
    'Zürich',
    'Ωμέγα',
    'Москва',
    '٣',
    '😀',
    '😀😀',
    'a😀b',
    '👍🏽',
    '\ud83d',
    '\ude00',
    '\u{10ffff}',
    'x-internal',
    '$ref',
  ],
];

/** Each matches some of the texts, and some not. */
const PATTERNS = [
  // Anchors, dots and line terminators
  ...[
    '^a',
    'a$',
    '^a$',
    '^$',
    '^.$',
    '^.*$',
    '^..$',
    '^[^]$',
    '^[^a]$',
    '(^a|b$)',
    '\\bfoo\\b',
    '\\Bbar',
    'o\\b',
    '^\\b',
  ],
  // Classes and escapes
  ...[
    '\\d',
    '^\\d+$',
    '\\D',
    '\\w',
    '^\\w+$',
    '\\W',
    '\\s',
    '^\\s+$',
    '\\S',
    '^\\S+$',
    '[\\s]',
    '^[^\\s]+$',
    '[\\S]',
    '^[\\w.-]+$',
    '[\\D]',
  ],
  ...[
    '^[\\d\\s]+$',
    '[\\b]',
    '[\\]]',
    '[^\\]]',
    '[[]',
    '^[[:a]$',
    '[$^]',
    '[\\^x]',
    '[a\\-z]',
    '^[-a]+$',
    '[+--]',
    '[/\\\\]',
    '\\/',
    '\\.',
    '\\$',
    '\\{',
  ],
  ...[
    '\\\\',
    '\\t|\\v',
    '\\cJ',
    '\\0',
    '\\x41',
    '\\u0041',
    '[\\u0041-\\u005a]',
    '\\u{1F600}',
    '\\uD83D\\uDE00',
    '[\\uD83D\\uDE00]',
    '^[😀]$',
  ],
  ...['\\ud83d', '^.\\ude00?$', '[\\u{1F600}-\\u{1F64F}]', '[^\\0-\\x7f]', '^[\\x00-\\x7F]*$', '\\u2028', '^[^\\n]*$'],
  // Properties
  ...[
    '\\p{L}',
    '^\\p{L}+$',
    '\\P{L}',
    '^\\p{Lu}',
    '^[\\p{L}\\p{N} ]+$',
    '\\p{N}',
    '\\p{Script=Han}',
    '^\\p{sc=Hiragana}|\\p{Script=Greek}$',
  ],
  ...['\\p{sc=Cyrillic}', '\\p{gc=Nd}', '\\p{Emoji_Presentation}', '^\\p{ASCII}+$', '\\p{White_Space}', '^[^\\p{L}]+$'],
  // Repetitions and groups
  ...[
    '^a{3}$',
    '^a{02,}$',
    '^a{1,3}?$',
    '^(ab){2}$',
    '^(?:a|b)+$',
    '^(?<first>a)(?<$rest>.*)$',
    '^(a+)+$',
    '^(|a)*$',
    '^(?:a?){3}$',
    'foo|^$',
  ],
  // What sellers write
  ...[
    '^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$',
    '^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\\.[a-zA-Z]{2,}$',
    '^https?://[^\\s/$.?#].[^\\s]*$',
    '^[a-z0-9]+(-[a-z0-9]+)*$',
  ],
  ...[
    '^\\d{4}-\\d{2}-\\d{2}$',
    '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$',
    '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)$',
  ],
  ...[
    '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
    '^#([0-9a-fA-F]{3}){1,2}$',
    '^0x[0-9a-fA-F]+$',
    '^0x[a-fA-F0-9]{40}$',
    '^[A-Z]{2}$',
    '^[A-Z]{3}$',
  ],
  ...[
    '^[a-z]{2}(-[A-Za-z]{2,4})*$',
    '^\\+[1-9]\\d{1,14}$',
    '^(\\d{1,3}\\.){3}\\d{1,3}$',
    '^v?\\d+\\.\\d+\\.\\d+(-[0-9A-Za-z.-]+)?$',
    '^-?\\d+(\\.\\d+)?([eE][+-]?\\d+)?$',
  ],
  ...[
    '^[A-Z]{2}\\d{2}( ?\\d{4}){4} ?\\d$',
    '^data:[\\w/+-]+;base64,[A-Za-z0-9+/=]+$',
    '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)$',
  ],
  ...[
    '^[\\u4e00-\\u9fff]+$',
    '^[\\u3040-\\u30ff\\u4e00-\\u9fff]+$',
    '^x-',
    '^\\$',
    '^P(?:\\d+D)?T\\d+H$',
    '^.{1,500}$',
    '^[\\p{L}][\\p{L} .-]{0,60}$',
  ],
];

const linear = (pattern: string): RegExp => new LinearRegExp(pattern, 'u');
const native = (pattern: string): RegExp => new RegExp(pattern, 'u');

describe('a pattern', () => {
  it.each(PATTERNS)('matches what RegExp matches: %s', (pattern) => {
    const matched = TEXTS.filter((text) => linear(pattern).test(text));
    expect(matched).toEqual(TEXTS.filter((text) => native(pattern).test(text)));
    expect([matched.length > 0, matched.length < TEXTS.length]).toEqual([true, true]);
  });

  it.each(['\\s', '\\S', '\\w', '\\W', '\\d', '\\D', '.', '[^\\s]', '[\\S]', '[\\s\\S]', '\\p{Lu}', '\\P{Lu}'])(
    'has the same characters as in RegExp: %s',
    (pattern) => {
      const characters = Array.from({ length: 0x1_1000 }, (_, code) => String.fromCodePoint(code));
      const [ours, theirs] = [linear(`^${pattern}$`), native(`^${pattern}$`)];
      expect(characters.filter((character) => ours.test(character) !== theirs.test(character))).toEqual([]);
    },
  );

  it('matches what RegExp matches, however it is made', () => {
    const part = fc.constantFrom(
      ...[
        'a',
        'b',
        '_',
        '中',
        '😀',
        '\\u{1F600}',
        '\\uD83D\\uDE00',
        '\\ud83d',
        '\\n',
        '\\cJ',
        '\\x61',
        '\\/',
        '.',
        '[]',
        '[^]',
      ],
      ...[
        '\\d',
        '\\W',
        '\\s',
        '\\S',
        '\\p{L}',
        '\\P{Lu}',
        '[a-z]',
        '[^a]',
        '[\\S]',
        '[^\\s]',
        '[[\\]]',
        '[\\b-]',
        '[😀_]',
        '[(.)]',
      ],
    );
    const repetition = fc.constantFrom('', '', '*', '+', '?', '*?', '{2}', '{0,02}', '{1,}');
    const { pattern } = fc.letrec<{ pattern: string; group: string }>((tie) => ({
      group: fc.tuple(fc.constantFrom('(', '(?:', '(?<n>'), tie('pattern')).map(([open, inner]) => `${open}${inner})`),
      pattern: fc
        .array(
          fc.oneof(
            { depthSize: 'small', withCrossShrink: true },
            fc.tuple(part, repetition).map((parts) => parts.join('')),
            fc.constantFrom('^', '$', '\\b', '|'),
            fc.tuple(tie('group'), repetition).map((parts) => parts.join('')),
          ),
          { maxLength: 5 },
        )
        .map((parts) => parts.join('')),
    }));
    const text = fc.string({
      unit: fc.constantFrom(...'ab_ -.\n\u00a0\u2028中', '😀', '\ud83d', '\ude00'),
      maxLength: 6,
    });
    fc.assert(
      fc.property(pattern, fc.array(text, { minLength: 10 }), (made, texts) => {
        fc.pre(problemOfPattern(made) === undefined);
        for (const each of texts)
          expect([made, each, linear(made).test(each)]).toEqual([made, each, native(made).test(each)]);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a pattern is refused', () => {
  it.each([
    ['(', 'no regular expression'],
    ['\\-', 'no regular expression'],
    ['a'.repeat(201), '200 characters'],
    ['^(?=.*\\d).{8,}$', 'lookahead (?= is not supported'],
    ['^(?!x-)', 'lookahead (?! is not supported'],
    ['(?<=a)b', 'lookbehind (?<= is not supported'],
    ['(?<!a)b', 'lookbehind (?<! is not supported'],
    ['(a)\\1', 'a backreference (\\1) is not supported'],
    ['(?<a>a)\\k<a>', 'a backreference (\\k) is not supported'],
    ['\\p{Letter}', '\\p{Letter} is not supported: a property'],
    ['\\p{scx=Greek}', '\\p{scx=Greek} is not supported: a property'],
    ['a{1001}', '{1001} is not supported: at most 1000 repetitions'],
    ['((a{10}){10}){11}', '{11} is not supported: at most 1000 repetitions'],
    ['^.{1,512}$', 'too large'],
    ['(a?b?){300}', 'too large'],
    ['(a{1,1000}){1,1000}', 'too large'],
  ])('%s: %s', (pattern, problem) => expect(problemOfPattern(pattern)).toContain(problem));

  it.each(['[(?=a)]', '\\(\\?=a', '[\\\\1]', '(?<a>a)', '[(?<=]', '{1001}'.replace(/[{}]/g, '\\$&')])(
    'but not for what only looks like it: %s',
    (pattern) => expect(problemOfPattern(pattern)).toBeUndefined(),
  );
});

describe('a pattern on which an engine with backtracking never ends', () => {
  it.each([
    ['^(a|a)*$', 'a'],
    ['^(a+)+$', 'a'],
    ['^((a*)*)*$', 'a'],
    ['a*a*a*a*a*a*b', 'a'],
    ['^(\\w+\\s?)*$', 'word '],
    ['^([a-zA-Z0-9]+)*@$', 'aB3'],
    ['(x+x+)+y', 'x'],
    ['^(?:a?){300}a{300}$', 'a'],
  ])('decides a megabyte: %s', (pattern, repeated) =>
    expect(linear(pattern).test(`${repeated.repeat(1_048_576 / repeated.length)}!`)).toBe(false),
  );
});
