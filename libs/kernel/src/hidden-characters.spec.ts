import { hiddenCharacterOf } from './hidden-characters.js';

describe('a text that others see', () => {
  it.each([
    ['nul\0', 'U+0000'],
    ['escape\u001b[2J', 'U+001B'],
    ['csi\u009b', 'U+009B'],
    ['soft\u00adhyphen', 'U+00AD'],
    ['zero\u200bwidth', 'U+200B'],
    ['word\u2060joiner', 'U+2060'],
    ['\ufeffmark', 'U+FEFF'],
    ['gnp.exe\u202egpj', 'U+202E'],
    ['\u2067isolate', 'U+2067'],
    ['mark\u200f', 'U+200F'],
    ['line\u2028end', 'U+2028'],
    ['half \ud83d', 'U+D83D'],
    ['tags \u{e0049}\u{e0067}', 'U+E0049'],
    ['flag \u{1f3f4}\u{e0067}\u{e0062}', 'U+E0067'],
  ])('hides nothing, unlike %j', (text, hidden) => {
    expect(hiddenCharacterOf(text, { lines: true })).toBe(hidden);
    expect(hiddenCharacterOf(text, { lines: false })).toBe(hidden);
  });

  it.each([
    '',
    'می\u200cخواهم',
    '👩🏽\u200d🚀',
    '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
    '❤\ufe0f',
    'e\u0301',
    'שלום',
    '\u0601',
    '天気',
  ])('may be %j', (text) => {
    expect(hiddenCharacterOf(text, { lines: false })).toBeUndefined();
  });

  it('has several lines where they are allowed', () => {
    expect(hiddenCharacterOf('a\r\n\tb', { lines: true })).toBeUndefined();
    expect(hiddenCharacterOf('a\r\n\tb', { lines: false })).toBe('U+000D');
  });
});
