import { readFileSync } from 'node:fs';
import { THREATS } from './threats.js';

const read = (path: string): string => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');
/** The sections of the table of threats, and how many rows each has. */
const SECTIONS = { M: 24, P: 20, E: 20, A: 15, K: 10, Z: 8, I: 12, N: 10, F: 11, O: 6, R: 9, C: 4, S: 18 };

describe('the threats', () => {
  it('are all here, in their order', () =>
    expect(Object.keys(THREATS)).toEqual(
      Object.entries(SECTIONS).flatMap(([section, rows]) =>
        Array.from({ length: rows }, (_, n) => `${section}${n + 1}`),
      ),
    ));

  it('are each proven by tests that exist, or it is said why not', () => {
    const texts = new Map<string, string>();
    const missing = Object.entries(THREATS).flatMap(([id, { proofs, notProvable }]) => [
      ...(proofs.length > 0 || notProvable ? [] : [id]),
      ...proofs
        .filter(({ file, title }) => {
          const text = texts.get(file) ?? read(file);
          texts.set(file, text);
          // A title is a text in quotes, which may begin before the part that is named here.
          return !text.split('\n').some((line) => /['"`]/.test(line) && line.includes(title));
        })
        .map(({ file, title }) => `${id}: ${file} has no test "${title}"`),
    ]);
    expect(missing).toEqual([]);
  });

  it('have a line each in docs/reliability.md', () => {
    const lines = [...read('docs/reliability.md').matchAll(/^\|([A-Z]\d+)\|/gm)].map(([, id]) => id);
    expect(lines).toEqual(Object.keys(THREATS));
  });
});
