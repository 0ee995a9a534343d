/** The maximum nesting of arrays and objects in a buyer's body or a seller's answer; `{}` has depth 1. */
export const MAX_DEPTH = 64;

export type JsonProblem = 'invalid_json' | 'too_deep';

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

/** Whether valid JSON text is nested too deep; counts the brackets outside strings. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else if (character === '}' || character === ']') depth -= 1;
    else if ((character === '{' || character === '[') && ++depth > MAX_DEPTH) return true;
  }
  return false;
}

function endOfString(text: string, start: number): number {
  let end = start + 1;
  while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return end;
}
