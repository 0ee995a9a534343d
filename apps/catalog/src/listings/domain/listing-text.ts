import { disguisedWord } from './lookalikes.js';

/** Bounds in Unicode code points: an emoji is not longer than a letter because UTF-16 says so. `q` is ours, the others are the public contract's. */
const BOUNDS = {
  name: { min: 2, max: 100 },
  description: { min: 10, max: 5_000 },
  docs: { min: 0, max: 50_000 },
  connection_instructions: { min: 0, max: 10_000 },
  expected_delivery: { min: 0, max: 100 },
  risk_disclaimers: { min: 0, max: 5_000 },
  sla: { min: 0, max: 5_000 },
  q: { min: 0, max: 200 },
} as const;

/** PostgreSQL keeps neither NUL nor half a surrogate pair. */
const UNSTORABLE = /[\0\p{Cs}]/u;

const VISIBLE = /(?![\p{DI}\u2800])[\p{L}\p{N}\p{P}\p{S}]/u;
/** Ends a line or turns it around: no part of a name, and it would rearrange whatever a name is shown in. */
const STEERING = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

export type ListingTexts = Record<string, string | string[] | { label: string; content: string }[] | undefined>;

export interface TextProblem {
  field: string;
  problem: string;
}

/** The first text, by its name in the public contract, that is out of bounds or cannot be stored. */
export function textProblem(texts: ListingTexts): TextProblem | null {
  for (const [field, value] of Object.entries(texts)) {
    if (value === undefined) continue;
    if (stringsIn(value).some((text) => UNSTORABLE.test(text))) return { field, problem: 'must be well-formed Unicode without NUL' };
    const bounds = BOUNDS[field as keyof typeof BOUNDS];
    if (!bounds || typeof value !== 'string') continue;
    const length = [...value].length;
    if (length < bounds.min || length > bounds.max) return { field, problem: `must be ${bounds.min} to ${bounds.max} characters` };
    if (bounds.min > 0 && !VISIBLE.test(value)) return { field, problem: 'must hold something to be seen' };
    if (field === 'name') {
      const problem = nameProblem(value);
      if (problem) return { field, problem };
    }
  }
  return null;
}

function nameProblem(name: string): string | null {
  if (STEERING.test(name)) return 'must be one line without control or direction characters';
  const disguised = disguisedWord(name);
  return disguised === undefined ? null : `must not mix alphabets in one word: ${disguised}`;
}

function stringsIn(value: NonNullable<ListingTexts[string]>): string[] {
  if (typeof value === 'string') return [value];
  return value.flatMap((item) => (typeof item === 'string' ? [item] : [item.label, item.content]));
}
