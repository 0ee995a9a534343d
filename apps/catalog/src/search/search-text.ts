const MAX_EXCLUSIONS = 16;
const MAX_WORDS = 32;

/**
 * What is searched for; undefined when that is nothing. What many words find is dear to find out, so that only the first 32
 * count. websearch_to_tsquery takes all that people type but for some thirty negations inside one another ("tsquery stack too
 * small"), so that later minuses are taken for blanks.
 */
export function searchText(q = ''): string | undefined {
  const tooMany = [...q.matchAll(/[\p{L}\p{N}]+/gu)][MAX_WORDS];
  let minuses = 0;
  const text = q
    .slice(0, tooMany?.index)
    .replaceAll('-', () => ((minuses += 1) <= MAX_EXCLUSIONS ? '-' : ' '))
    .trim();
  return text || undefined;
}
