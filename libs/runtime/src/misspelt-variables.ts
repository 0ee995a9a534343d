import type { Environment } from './define-config.js';

/** Shorter names are near to many others: HOST to PORT. */
const SHORTEST = 5;
/** Names of this length may have two mistakes. */
const LONG = 12;

/** @returns a sentence for each variable that is unknown and nearly a known one. It names no value. */
export function misspeltVariables(env: Environment, known: Iterable<string>): string[] {
  const names = new Set(known);
  return Object.keys(env)
    .filter((name) => env[name] && name.length >= SHORTEST && !names.has(name))
    .flatMap((name) => {
      const [nearest] = [...names]
        .map((candidate) => ({ candidate, mistakes: mistakesBetween(name, candidate) }))
        .filter(({ mistakes }) => mistakes <= (name.length >= LONG ? 2 : 1))
        .sort((a, b) => a.mistakes - b.mistakes);
      return nearest ? [`${name} is unknown; did you mean ${nearest.candidate}?`] : [];
    });
}

/** The letters to insert, to remove, to replace or to swap with their neighbour (optimal string alignment). */
function mistakesBetween(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return Infinity;
  let [before, row] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = row[j - 1]! + Number(a[i - 1] !== b[j - 1]);
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before[j - 2]! + 1 : Infinity;
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, replaced, swapped));
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}
