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
  }
  return null;
}

function stringsIn(value: NonNullable<ListingTexts[string]>): string[] {
  if (typeof value === 'string') return [value];
  return value.flatMap((item) => (typeof item === 'string' ? [item] : [item.label, item.content]));
}
