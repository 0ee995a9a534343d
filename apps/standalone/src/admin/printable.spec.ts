import { printable } from './printable.js';

it('shows what would steer the terminal or turn a line around', () => {
  expect(printable('a\tb\n\u001b[2J\u009b1m\u202edrow\u200f é 🦀\r')).toBe(
    'a\tb\n\\u001b[2J\\u009b1m\\u202edrow\\u200f é 🦀\\u000d',
  );
});
