import { hiddenCharacterOf } from '@market/kernel';

export interface TextProblem {
  field: string;
  problem: string;
}

/** Returns the first text that hides characters from its readers. */
export function textProblem(texts: { title?: string; comment?: string }): TextProblem | null {
  for (const field of ['title', 'comment'] as const) {
    const hidden = hiddenCharacterOf(texts[field] ?? '', { lines: field === 'comment' });
    if (hidden !== undefined)
      return { field, problem: `must hold no control, direction or invisible characters: ${hidden}` };
  }
  return null;
}
