import { textProblem } from './listing-text.js';

describe('the texts of a listing', () => {
  it.each([
    ['name', 2, 100],
    ['description', 10, 5_000],
    ['docs', 0, 50_000],
    ['connection_instructions', 0, 10_000],
    ['expected_delivery', 0, 100],
    ['risk_disclaimers', 0, 5_000],
    ['sla', 0, 5_000],
  ])('%s is %i to %i code points long', (field, min, max) => {
    for (const character of ['a', 'é', '日', '🦊', '𐀀']) {
      expect(textProblem({ [field]: character.repeat(min) })).toBeNull();
      expect(textProblem({ [field]: character.repeat(max) })).toBeNull();
      expect(textProblem({ [field]: character.repeat(max + 1) })).toEqual({ field, problem: `must be ${min} to ${max} characters` });
      if (min > 0) expect(textProblem({ [field]: character.repeat(min - 1) })).toMatchObject({ field });
    }
  });

  it.each(['  ', '\u200b\u200b\u200b', '\u3164\u3164', '\u2800 \u2800', '\ufe0f\u200d'])('name something to be seen, unlike %j', (name) => {
    expect(textProblem({ name })).toEqual({ field: 'name', problem: 'must hold something to be seen' });
    expect(textProblem({ description: name.repeat(10) })).toEqual({ field: 'description', problem: 'must hold something to be seen' });
    expect(textProblem({ docs: name })).toBeNull();
  });

  it.each(['two\nlines', 'a\ttab', 'bell\u0007', 'gnp.exe\u202egpj', '\u2067rtl', 'line\u2028end', 'escape\u001b[2J'])('name on one line and in one direction, unlike %j', (name) => {
    expect(textProblem({ name })).toEqual({ field: 'name', problem: 'must be one line without control or direction characters' });
    expect(textProblem({ description: `${name} in a description` })).toBeNull();
  });

  it.each([['Wеather API', 'Wеather'], ['РayРal', 'РayРal'], ['my Оpenai', 'Оpenai'], ['gοogle', 'gοogle']])('name nothing in letters that pass for others: %j', (name, word) => {
    expect(textProblem({ name })).toEqual({ field: 'name', problem: `must not mix alphabets in one word: ${word}` });
  });

  it.each(['Погода', 'сос', 'Καιρός', 'Погода API', 'β-carotene λ-calculus', 'Ωmega', '天気 API', '🦊 👩🏽‍🚀', 'नमस्ते', 'שלום', 'مرحبا', 'Straße ÆØÅ'])('name things in any language, such as %j', (name) => {
    expect(textProblem({ name })).toBeNull();
  });

  it.each(['\0', 'a\0b', '\ud83e', 'x\udd8a', '\udd8a\ud83e'])('hold nothing that cannot be stored, such as %j', (text) => {
    expect(textProblem({ name: `name ${text}` })).toMatchObject({ field: 'name' });
    expect(textProblem({ tags: ['fine', text] })).toMatchObject({ field: 'tags' });
    expect(textProblem({ example_outputs: [{ label: 'fine', content: text }] })).toMatchObject({ field: 'example_outputs' });
    expect(textProblem({ example_outputs: [{ label: text, content: 'fine' }] })).toMatchObject({ field: 'example_outputs' });
  });

  it('may be left out, and hold anything else', () => {
    expect(textProblem({ name: undefined, docs: '\u0001\u202e\u200b\ufeff<script>\\u0000', tags: [] })).toBeNull();
  });

  it('are judged quickly at 100 KB', () => {
    const started = Date.now();
    for (const text of ['a'.repeat(100_000), '🦊'.repeat(50_000), '\ud83e'.repeat(100_000)]) textProblem({ name: text, docs: text, tags: [text] });
    expect(Date.now() - started).toBeLessThan(500);
  });
});
