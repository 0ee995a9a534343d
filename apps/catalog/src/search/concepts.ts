/** One way in which a listing can have what a word of the question means. */
export interface Way {
  /** A tsquery: alternatives joined by |, or a phrase. */
  query: string;
  /** How much of the word it is worth. */
  weight: number;
  /** The alternatives in the query, by whose number ts_rank divides; null of a phrase. */
  lexemes: string[] | null;
}

/** A word of the question, and all ways in which listings can have it. */
export interface Concept {
  word: string;
  ways: Way[];
  /** How rare it is among the listings, times how much it says. */
  weight: number;
  /** About how many listings have it. */
  listings: number;
  /** Whether a listing lacks something without it. A neighbourhood of words only adds to them. */
  isWanted: boolean;
  /** Whether it is part of a phrase of the question, which says it better. */
  isPart?: boolean;
}

/** A word that no listing has, and those that were meant. */
export interface Corrected {
  word: string;
  as: string[];
}

/** How the words of a question were read. */
interface ReadWords {
  used: string[];
  corrected: Corrected[];
  unmatched: string[];
}

export interface Question {
  concepts: Concept[];
  /** What names and tags must have, as a tsquery, where the words say nothing anywhere else. */
  named: string | null;
  /** What listings must have, as a tsquery: the phrases in quotes, and not the excluded words. */
  must: string | null;
  /** Whether there are phrases in quotes. */
  isStrict: boolean;
  /** The sum of the weights, with the words that no listing has. */
  mass: number;
  /** So much of it, all or what a few rare words weigh, says clearly what is meant. */
  clear: number;
  read: ReadWords;
}

const quoted = (lexeme: string): string => `'${lexeme.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`;
/** A tsquery of alternatives. */
export const either = (lexemes: readonly string[]): string => lexemes.map(quoted).join(' | ');

/** The best of those that find the same. */
export function distinct(ways: Way[]): Way[] {
  const byQuery = new Map<string, Way>();
  for (const way of ways) {
    const other = byQuery.get(way.query);
    if (!other || other.weight < way.weight) byQuery.set(way.query, way);
  }
  return [...byQuery.values()];
}

/** Makes one of the words that are worth the same. */
export function together(ways: Way[], counted: Map<string, number>): Way[] {
  const byWeight = new Map<number, Way[]>();
  for (const way of ways)
    if (way.lexemes !== null && way.weight < 1) byWeight.set(way.weight, [...(byWeight.get(way.weight) ?? []), way]);
  const merged = [...byWeight].map(([weight, same]) => {
    const lexemes = [...new Set(same.flatMap((way) => way.lexemes!))];
    const query = either(lexemes);
    counted.set(
      query,
      same.reduce((sum, way) => sum + counted.get(way.query)!, 0),
    );
    return { query, weight, lexemes };
  });
  return [...ways.filter(({ lexemes, weight }) => lexemes === null || weight === 1), ...merged];
}
