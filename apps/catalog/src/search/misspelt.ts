const ALPHABET = [...'abcdefghijklmnopqrstuvwxyz'];

/** Returns all words that are one keystroke away: a letter too many, missing or wrong, or two in the wrong order. */
export function misspellingsOf(word: string): string[] {
  const letters = [...word];
  const alphabet = [...new Set([...ALPHABET, ...letters])];
  const found = new Set<string>();
  for (let at = 0; at <= letters.length; at += 1) {
    const [before, after] = [letters.slice(0, at).join(''), letters.slice(at)];
    const rest = after.join('');
    for (const letter of alphabet) found.add(before + letter + rest);
    if (after.length === 0) continue;
    const tail = after.slice(1).join('');
    if (letters.length > 3) {
      found.add(before + tail);
      for (const letter of alphabet) found.add(before + letter + tail);
    }
    if (after.length > 1) found.add(before + after[1]! + after[0]! + after.slice(2).join(''));
  }
  found.delete(word);
  return [...found];
}

/** Swapped letters are the likeliest slip, then a missing one. */
const COST = { swapped: 0.7, missing: 0.9, extra: 1, wrong: 1 };

/** The weighted Damerau-Levenshtein distance from what was typed to a word. */
function slips(typed: string, word: string): number {
  const [a, b] = [[...typed], [...word]];
  const rows: number[][] = [b.map((_, index) => (index + 1) * COST.missing)];
  rows[0]!.unshift(0);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i * COST.extra];
    for (let j = 1; j <= b.length; j += 1) {
      let least = Math.min(
        rows[i - 1]![j]! + COST.extra,
        row[j - 1]! + COST.missing,
        rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : COST.wrong),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, rows[i - 2]![j - 2]! + COST.swapped);
      row.push(least);
    }
    rows.push(row);
  }
  // The first letter is rarely wrong.
  return rows[a.length]![b.length]! + (a[0] === b[0] ? 0 : 0.5);
}

/** How far a word may be from what was typed. */
const allowed = (length: number): number => (length < 5 ? 1 : length < 8 ? 1.2 : 1.9);

/** Returns the words nearest to what was typed: one, or several that are equally near and common. */
export function nearest(typed: string, words: string[], listingsOf: (word: string) => number): string[] {
  const near = words
    .map((word) => ({ word, distance: slips(typed, word) - Math.min(Math.log10(listingsOf(word) + 1), 2) * 0.05 }))
    .filter(({ distance }) => distance <= allowed(typed.length))
    .sort((a, b) => a.distance - b.distance);
  return near
    .filter(({ distance }) => distance <= near[0]!.distance + 0.1)
    .slice(0, 3)
    .map(({ word }) => word);
}
