/** Bounds in Unicode code points, as the edge and PostgreSQL count. */
const MAX_LENGTHS = { title: 200, comment: 5_000 } as const;

/** PostgreSQL stores neither NUL nor a lone surrogate. */
const UNSTORABLE = /[\0\p{Cs}]/u;

export interface TextProblem {
  field: string;
  problem: string;
}

/** The first text that is too long or cannot be stored. */
export function textProblem(texts: { title?: string; comment?: string }): TextProblem | null {
  for (const [field, max] of Object.entries(MAX_LENGTHS)) {
    const text = texts[field as keyof typeof MAX_LENGTHS];
    if (text === undefined) continue;
    if (UNSTORABLE.test(text)) return { field, problem: 'must be well-formed Unicode without NUL' };
    if ([...text].length > max) return { field, problem: `must be at most ${max} characters` };
  }
  return null;
}
