import { unauthorized } from './edge-refusals.js';
import { isFitText } from './fit-text.js';
import { refOr, uuidOr } from './values.js';

describe('text', () => {
  it('is fit for PostgreSQL without NUL and unpaired surrogates only', () => {
    for (const text of ['', 'a\nb\t', '👩‍🌾', '\u202e', '\ufeff', '\uffff']) expect(isFitText(text)).toBe(true);
    for (const text of ['\0', 'a\0b', '\ud800', 'x\udc00', '\udc00\ud800']) expect(isFitText(text)).toBe(false);
  });
});

describe('ids in paths', () => {
  it('are taken as uuids in lower case, and anything else is refused as unknown', () => {
    const id = '019A9F3E-7C2A-7B41-9A53-2F6D1C0E8B11';
    expect(uuidOr(id, unauthorized)).toBe(id.toLowerCase());
    for (const text of ['', 'x', `${id} `, `${id}\n`, id.slice(1), '\0'])
      expect(() => uuidOr(text, unauthorized)).toThrow();
  });

  it('may be slugs where both are allowed, of at most 150 characters', () => {
    expect(refOr('hourly-weather', unauthorized)).toBe('hourly-weather');
    for (const text of [
      '',
      'x'.repeat(151),
      'a\0',
      '\ud800',
      'Weather',
      'a b',
      'a/b',
      'a.b',
      'am_k_0',
      'wetter-für-alle',
    ])
      expect(() => refOr(text, unauthorized)).toThrow();
  });
});
