import { disguisedWord } from './lookalikes.js';

const VISIBLE = /(?![\p{DI}\u2800])[\p{L}\p{N}\p{P}\p{S}]/u;
/** Control characters, line breaks and bidirectional controls, which would break or reorder the text around a name. */
const CONTROL_CHARACTERS = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

export interface TextProblem {
  field: string;
  problem: string;
}

/** Returns the first problem in the name or the description. The contract checks their lengths. */
export function textProblem(texts: { name?: string; description?: string }): TextProblem | null {
  for (const [field, value] of Object.entries(texts))
    if (value !== undefined && !VISIBLE.test(value)) return { field, problem: 'must hold something to be seen' };
  if (texts.name === undefined) return null;
  if (CONTROL_CHARACTERS.test(texts.name))
    return { field: 'name', problem: 'must be one line without control or direction characters' };
  const disguised = disguisedWord(texts.name);
  return disguised === undefined
    ? null
    : { field: 'name', problem: `must not mix alphabets in one word: ${disguised}` };
}
