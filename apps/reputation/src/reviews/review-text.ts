/** PostgreSQL cannot store NUL or an unpaired surrogate. */
const UNSTORABLE = /[\0\p{Cs}]/u;

export interface TextProblem {
  field: string;
  problem: string;
}

/** Returns the first text that cannot be stored. */
export function textProblem(texts: { title?: string; comment?: string }): TextProblem | null {
  const field = (['title', 'comment'] as const).find((name) => UNSTORABLE.test(texts[name] ?? ''));
  return field ? { field, problem: 'must be well-formed Unicode without NUL' } : null;
}
