import { textProblem } from './listing-text.js';

describe('the texts of a listing', () => {
  it.each(['  ', '\u200b\u200b\u200b', '\u3164\u3164', '\u2800 \u2800', '\ufe0f\u200d'])(
    'name something to be seen, unlike %j',
    (name) => {
      expect(textProblem({ name })).toEqual({ field: 'name', problem: 'must hold something to be seen' });
      expect(textProblem({ description: name.repeat(10) })).toEqual({
        field: 'description',
        problem: 'must hold something to be seen',
      });
    },
  );

  it.each(['two\nlines', 'a\ttab', 'bell\u0007', 'gnp.exe\u202egpj', '\u2067rtl', 'line\u2028end', 'escape\u001b[2J'])(
    'name on one line and in one direction, unlike %j',
    (name) => {
      expect(textProblem({ name })).toEqual({
        field: 'name',
        problem: 'must be one line without control or direction characters',
      });
      expect(textProblem({ description: `${name} in a description` })).toBeNull();
    },
  );

  it.each([
    ['Wеather API', 'Wеather'],
    ['РayРal', 'РayРal'],
    ['my Оpenai', 'Оpenai'],
    ['gοogle', 'gοogle'],
  ])('name nothing in letters that pass for others: %j', (name, word) => {
    expect(textProblem({ name })).toEqual({ field: 'name', problem: `must not mix alphabets in one word: ${word}` });
  });

  it.each([
    'Погода',
    'сос',
    'Καιρός',
    'Погода API',
    'β-carotene λ-calculus',
    'Ωmega',
    '天気 API',
    '🦊 👩🏽‍🚀',
    'नमस्ते',
    'שלום',
    'مرحبا',
    'Straße ÆØÅ',
  ])('name things in any language, such as %j', (name) => {
    expect(textProblem({ name })).toBeNull();
  });

  it('may be left out, and a description holds anything else', () => {
    expect(textProblem({ name: undefined, description: '\u0001\u202e\u200b\ufeff<script>' })).toBeNull();
  });

  it('are judged quickly at 100 KB', () => {
    const started = Date.now();
    for (const text of ['a'.repeat(100_000), '🦊'.repeat(50_000), '\ud83e'.repeat(100_000)])
      textProblem({ name: text, description: text });
    expect(Date.now() - started).toBeLessThan(500);
  });
});
