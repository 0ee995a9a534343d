import { readFileSync, writeFileSync } from 'node:fs';

const PAGE = new URL('../docs/reliability.md', import.meta.url);

/** Puts the outcomes into the table of docs/reliability.md, whose other rows stay. */
export function writeOutcomes(outcomes, { size, seed }) {
  const page = readFileSync(PAGE, 'utf8');
  const date = new Date().toISOString().slice(0, 10);
  const lineOf = ({ id, tests, counts, seconds, isPassed }) => {
    const amounts = counts.map((count) => count.split(' ')[0]).join('+');
    const outcome = isPassed ? String(seconds) : '**failed**';
    return `|${[id, tests.join('+'), size, amounts || '–', outcome, seed, date].join('|')}|`;
  };
  const changed = outcomes.reduce(
    (text, outcome) => text.replace(new RegExp(`^\\|${outcome.id}\\|.*$`, 'm'), lineOf(outcome)),
    page,
  );
  writeFileSync(PAGE, changed);
}
