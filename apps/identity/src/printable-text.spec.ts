import { isPrintable } from './printable-text.js';

describe('isPrintable', () => {
  it.each([
    'Ada',
    'a',
    '  Ada  ',
    'Zoë 李 🦉',
    '👩‍🚀',
    "Robert'); DROP TABLE accounts;--",
    'x'.repeat(100),
    '🦉'.repeat(100),
  ])('accepts %p', (text) => {
    expect(isPrintable(text, 100)).toBe(true);
  });

  it.each([
    '',
    ' ',
    '\t\n',
    'a\0b',
    'a\nb',
    '\u001b[31m',
    '\ud800',
    'x'.repeat(101),
    '🦉'.repeat(101),
    '\ufe0f'.repeat(10_000),
  ])('refuses text that is no name (case %#)', (text) => {
    expect(isPrintable(text, 100)).toBe(false);
  });
});
