import { endOfJsonString, lossOf } from '@market/kernel';

/** The maximum nesting of arrays and objects in a buyer's body or a seller's answer; `{}` has depth 1. */
export const MAX_DEPTH = 64;

export type JsonProblem = 'invalid_json' | 'too_deep';
export type BodyProblem = JsonProblem | 'not_an_object' | 'duplicate_key';

/**
 * Parses JSON text that is nested at most `MAX_DEPTH` deep. V8 parses any depth without recursion, but functions such
 * as `canonicalize` recurse over the value.
 */
export function parseJson(text: string): { value: unknown } | { problem: JsonProblem } {
  try {
    const value: unknown = JSON.parse(text);
    return isTooDeep(text) ? { problem: 'too_deep' } : { value };
  } catch {
    return { problem: 'invalid_json' };
  }
}

/**
 * Reads a buyer's body, which is one object without repeated keys: of two values of a key, a seller might read another
 * one than the check against the schema.
 * @returns `isExact: false` for a body with a number that no double holds.
 */
export function readBody(text: string): { value: object; isExact: boolean } | { problem: BodyProblem } {
  const parsed = parseJson(text);
  if ('problem' in parsed) return parsed;
  const { value } = parsed;
  const { repeatedKey, inexactNumber } = lossOf(text);
  if (repeatedKey !== undefined) return { problem: 'duplicate_key' };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { problem: 'not_an_object' };
  return { value, isExact: inexactNumber === undefined };
}

/** Whether valid JSON text is nested too deep; counts the brackets outside strings. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfJsonString(text, at);
    else if (character === '}' || character === ']') depth -= 1;
    else if ((character === '{' || character === '[') && ++depth > MAX_DEPTH) return true;
  }
  return false;
}
