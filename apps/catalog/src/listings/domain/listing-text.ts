import { disguisedWord } from './lookalikes.js';

const VISIBLE = /(?![\p{DI}\u2800])[\p{L}\p{N}\p{P}\p{S}]/u;
/** Ends a line or turns it around: no part of a name, and it would rearrange whatever a name is shown in. */
const STEERING = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

export interface TextProblem {
  field: string;
  problem: string;
}

/** What is wrong with the texts that a listing is found and recognized by, beside their length, which the contract bounds. */
export function textProblem(texts: { name?: string; description?: string }): TextProblem | null {
  for (const [field, value] of Object.entries(texts))
    if (value !== undefined && !VISIBLE.test(value)) return { field, problem: 'must hold something to be seen' };
  if (texts.name === undefined) return null;
  if (STEERING.test(texts.name))
    return { field: 'name', problem: 'must be one line without control or direction characters' };
  const disguised = disguisedWord(texts.name);
  return disguised === undefined
    ? null
    : { field: 'name', problem: `must not mix alphabets in one word: ${disguised}` };
}
