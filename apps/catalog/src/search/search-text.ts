const MAX_EXCLUSIONS = 16;
const MAX_WORDS = 32;

/**
 * Returns the text to search for; undefined if it is empty. Only the first 32 words count, because a search for many
 * words is expensive. websearch_to_tsquery fails on about thirty nested negations ("tsquery stack too small"), so every
 * minus after the sixteenth becomes a blank.
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
