import type { InputOf } from '@market/contracts';
import type { createListing } from '@market/contracts/catalog';
import { hiddenCharacterOf } from '@market/kernel';
import { disguisedWord } from './lookalikes.js';

const VISIBLE = /(?![\p{DI}\u2800])[\p{L}\p{N}\p{P}\p{S}]/u;
export interface TextProblem {
  field: string;
  problem: string;
}

type Input = InputOf<typeof createListing>;
const LINES = ['description', 'docs', 'connection_instructions', 'risk_disclaimers', 'sla'] as const;
const LINE = ['name', 'expected_delivery', 'demo_endpoint', 'github_url', 'logo_url'] as const;
const LISTS = ['tags', 'formats', 'request_formats'] as const;
const JSON_VALUES = ['input_schema', 'example_input', 'output_schema'] as const;
type Texts = Partial<
  Pick<
    Input,
    | (typeof LINES | typeof LINE | typeof JSON_VALUES)[number]
    | (typeof LISTS)[number]
    | 'example_outputs'
    | 'usage'
    | 'included_units'
  >
>;

/** A text, whether it may have several lines, and in JSON the place of it. */
type Shown = [field: string, text: string | null | undefined, lines: boolean, path?: string];

/** Returns the first problem in the texts of a listing that others see. The contract checks their lengths. */
export function textProblem(texts: Texts): TextProblem | null {
  for (const field of ['name', 'description'] as const) {
    const text = texts[field];
    if (text !== undefined && !VISIBLE.test(text)) return { field, problem: 'must hold something to be seen' };
  }
  const { name, example_outputs = [], usage, included_units } = texts;
  const all: Shown[] = [
    ...LINE.map((field): Shown => [field, texts[field], false]),
    ...LINES.map((field): Shown => [field, texts[field], true]),
    ...LISTS.flatMap((field) => (texts[field] ?? []).map((text): Shown => [field, text, false])),
    ...example_outputs.flatMap(({ label, content }): Shown[] => [
      ['example_outputs', label, false],
      ['example_outputs', content, true],
    ]),
    ['usage', usage?.unit, false],
    ['included_units', included_units?.unit, false],
    ...JSON_VALUES.flatMap((field) =>
      textsIn(texts[field]).map(({ text, lines, path }): Shown => [field, text, lines, path]),
    ),
  ];
  for (const [field, text, lines, path] of all) {
    const hidden = hiddenCharacterOf(text ?? '', { lines });
    if (hidden === undefined) continue;
    const place = path === undefined ? hidden : `${hidden} at "${path}"`;
    return { field, problem: `must hold no control, direction or invisible characters: ${place}` };
  }
  const disguised = name === undefined ? undefined : disguisedWord(name);
  return disguised === undefined
    ? null
    : { field: 'name', problem: `must not mix alphabets in one word: ${disguised}` };
}

/**
 * All names and texts in a JSON value, each with its JSON Pointer. That of a name is the object's that has it, and outer
 * names come before inner ones, so that the first pointer of a text that hides something hides nothing itself.
 */
function textsIn(value: unknown): { text: string; lines: boolean; path: string }[] {
  const found: { text: string; lines: boolean; path: string }[] = [];
  const open = [{ value, path: '' }];
  for (const { value: next, path } of open) {
    if (typeof next === 'string') found.push({ text: next, lines: true, path });
    if (typeof next !== 'object' || next === null) continue;
    for (const [name, member] of Object.entries(next)) {
      if (!Array.isArray(next)) found.push({ text: name, lines: false, path });
      open.push({ value: member, path: `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}` });
    }
  }
  return found;
}
