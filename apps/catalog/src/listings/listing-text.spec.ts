import { createListing } from '@market/contracts/catalog';
import { textProblem } from './listing-text.js';

/** They are not shown to others. */
const UNSEEN = ['pow_nonce', 'challenge', 'private_endpoint_url'];
/** Values of every kind of field that hide a character. */
const HIDING: unknown[] = [
  'a text that hides \u200b something',
  'https://seller.example/\u200blogo.png',
  ['one', 'hid\u202eden'],
  [{ label: 'one', content: 'hid\u2060den' }],
  { properties: { one: { enum: [1, ['\ufeffhidden']] } } },
  { properties: { 'hid\u200bden': {} } },
];

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

  const hidden = 'must hold no control, direction or invisible characters: ';

  it('name on one line', () => {
    expect(textProblem({ name: 'two\nlines' })).toEqual({ field: 'name', problem: `${hidden}U+000A` });
    expect(textProblem({ description: 'two\nlines', docs: 'a\ttab' })).toBeNull();
  });

  it.each<[field: string, texts: Parameters<typeof textProblem>[0]]>([
    ['name', { name: 'Wea\u200bther' }],
    ['description', { description: 'Forecasts\u2060.' }],
    ['docs', { docs: '\ufeffRead me' }],
    ['sla', { sla: 'gnp.exe\u202egpj' }],
    ['risk_disclaimers', { risk_disclaimers: '\u001b[2J' }],
    ['connection_instructions', { connection_instructions: '\u2067rtl' }],
    ['expected_delivery', { expected_delivery: 'bell\u0007' }],
    ['tags', { tags: ['plain', 'for\u200becast'] }],
    ['formats', { formats: ['js\u200bon'] }],
    ['example_outputs', { example_outputs: [{ label: 'a', content: 'b\u202e' }] }],
  ])('hide nothing in %s', (field, texts) => {
    expect(textProblem(texts)).toEqual({ field, problem: expect.stringContaining(hidden) as string });
  });

  it.each(Object.entries(createListing.input.shape).filter(([field]) => !UNSEEN.includes(field)))(
    'hide nothing, whatever the contract takes as %s',
    (field, { safeParse }) => {
      for (const value of HIDING.filter((given) => safeParse(given).success))
        expect(textProblem({ [field]: value })).toEqual({ field, problem: expect.stringContaining(hidden) as string });
    },
  );

  it.each<[problem: string, value: Record<string, unknown>]>([
    ['U+200B at "/properties/a~1b/enum/1/0"', { properties: { 'a/b': { enum: ['a', ['\u200b']] } } }],
    ['U+202E at "/properties"', { properties: { 'a\u202e': { title: 'a\u200b' } } }],
    ['U+000A at ""', { 'two\nlines': 1 }],
  ])('tell where JSON hides something: %s', (problem, value) => {
    for (const field of ['input_schema', 'example_input', 'output_schema'])
      expect(textProblem({ [field]: value })).toEqual({ field, problem: `${hidden}${problem}` });
  });

  it('may have lines in JSON, and what emoji and Persian need', () => {
    expect(textProblem({ input_schema: { title: 'two\nlines', enum: ['👩🏽\u200d🚀', 'می\u200cخواهم'] } })).toBeNull();
  });

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

  it('may be left out or null, and a description holds markup', () => {
    expect(textProblem({ description: '<script>', docs: null })).toBeNull();
  });

  it('are judged quickly at 100 KB', () => {
    const started = Date.now();
    for (const text of ['a'.repeat(100_000), '🦊'.repeat(50_000), '\ud83e'.repeat(100_000)])
      textProblem({ name: text, description: text });
    expect(Date.now() - started).toBeLessThan(4_000);
  });
});
