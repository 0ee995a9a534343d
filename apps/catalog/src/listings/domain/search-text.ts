const MOST_MINUSES = 16;

/**
 * What is searched for; undefined when that is nothing. websearch_to_tsquery takes all that people type but for some
 * thirty negations inside one another ("tsquery stack too small"), so that later minuses are taken for blanks.
 */
export function searchText(q: string | undefined): string | undefined {
  let minuses = 0;
  const text = q?.replaceAll('-', () => ((minuses += 1) <= MOST_MINUSES ? '-' : ' ')).trim();
  return text || undefined;
}
