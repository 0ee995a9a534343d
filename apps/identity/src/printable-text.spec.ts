import { isPrintable } from './printable-text.js';

describe('isPrintable', () => {
  it.each(['Ada', 'a', '  Ada  ', 'Zoë 李 🦉', '👩‍🚀', "Robert'); DROP TABLE accounts;--"])('accepts %p', (text) => {
    expect(isPrintable(text)).toBe(true);
  });

  it.each(['', ' ', '\t\n', 'a\0b', 'a\nb', '\u001b[31m', '\ud800'])(
    'refuses text that is no name (case %#)',
    (text) => {
      expect(isPrintable(text)).toBe(false);
    },
  );
});
