/** The answer to a query, judged. */
export interface Judged {
  kind: string;
  /** The grades of the first ten listings of the answer, in its order. */
  grades: number[];
  /** The grades of all listings that are relevant. */
  relevant: number[];
  /** Whether the answer says itself that nothing fits, or little. */
  isSaidToBeWeak: boolean;
}

export interface Figures {
  /** The gain of the answer, discounted by rank, of that of the best possible one. */
  ndcg: number;
  /** Listings that do it (grade 2 or 3) among the first ten, of all or of ten. */
  recall: number;
  /** Whether the first one, or one of the first three, does it. */
  success1: number;
  success3: number;
  /** Whether nothing was answered. */
  nothing: number;
}

const SHOWN = 10;

const gainOf = (grades: number[]): number =>
  grades.slice(0, SHOWN).reduce((sum, grade, at) => sum + (2 ** grade - 1) / Math.log2(at + 2), 0);
const doesIt = (grade: number): boolean => grade >= 2;

/** The means over answers to queries that have a relevant listing. */
export function figuresOf(judged: Judged[]): Figures {
  const mean = (of: (each: Judged) => number): number =>
    judged.reduce((sum, each) => sum + of(each), 0) / judged.length;
  return {
    ndcg: mean(({ grades, relevant }) => gainOf(grades) / gainOf([...relevant].sort((a, b) => b - a))),
    recall: mean(
      ({ grades, relevant }) => grades.filter(doesIt).length / Math.min(relevant.filter(doesIt).length, SHOWN),
    ),
    success1: mean(({ grades }) => Number(grades.slice(0, 1).some(doesIt))),
    success3: mean(({ grades }) => Number(grades.slice(0, 3).some(doesIt))),
    nothing: mean(({ grades }) => Number(grades.length === 0)),
  };
}
