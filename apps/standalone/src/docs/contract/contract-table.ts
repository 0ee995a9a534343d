import type { ContractRow } from './contract-rows.js';
import type { TaggedTest } from './test-tags.js';

const INTRODUCTION = `# What proves the interface

This page lists every row of every table of [interface.md](interface.md), every numbered rule and every list of fields, with
the tests that fail when the statement is no longer true. \`npm run contract\` generates it from the titles of the tests, which
end in \`[spec: <row>]\`. A test fails if a row has no proof, if a title names no row, or if this page is not up to date.`;

/** docs/contract.md. */
export function contractTable(rows: ContractRow[], tests: TaggedTest[]): string {
  const sections = new Map<string, ContractRow[]>();
  for (const row of rows) {
    const title = row.section.slice(1).join(' › ');
    sections.set(title, [...(sections.get(title) ?? []), row]);
  }
  const tables = [...sections].map(([title, members]) =>
    [
      `## ${title}`,
      '',
      '| row | what the interface says | proven by |',
      '|---|---|---|',
      ...members.map((row) => toLine(row, tests)),
    ].join('\n'),
  );
  return `${[INTRODUCTION, ...tables].join('\n\n')}\n`;
}

function toLine({ id, cells, columns }: ContractRow, tests: TaggedTest[]): string {
  const said = cells.slice(cells[0] === id ? 1 : 0).filter(Boolean);
  const proofs = tests
    .filter(({ proves }) => proves.includes(id))
    .map(({ file, title }) => `[${file.split('/').at(-1)}](../${file}): ${title}`);
  const interfaceSays = escaped(columns.length > 0 ? said.join(' · ') : said.join(' '));
  return `| \`${id}\` | ${interfaceSays} | ${escaped(proofs.join('<br>')) || '**nothing yet**'} |`;
}

const escaped = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/<(?!br>)/g, '&lt;');

/** Rows without a test, and tags without a row. */
export function unproven(rows: ContractRow[], tests: TaggedTest[]): { rows: string[]; tags: string[] } {
  const known = new Set(rows.map(({ id }) => id));
  const proven = new Set(tests.flatMap(({ proves }) => proves));
  return {
    rows: [...known].filter((id) => !proven.has(id)),
    tags: tests.flatMap(({ file, proves }) => proves.filter((id) => !known.has(id)).map((id) => `${file}: ${id}`)),
  };
}
