import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { configurationTables } from './configuration-tables.js';
import { refusalTable } from './refusal-table.js';

export interface Document {
  /** Absolute. */
  path: string;
  /** As it is on disk. */
  text: string;
  /** As it is to be: its generated sections made from the code of today. */
  current: string;
}

const SECTIONS: Record<string, { file: string; write: () => string }> = {
  configuration: { file: 'operations.md', write: configurationTables },
  refusals: { file: 'errors.md', write: refusalTable },
};

/** The documents that hold a section between `<!-- generated: name -->` and `<!-- /generated -->`. */
export function documentsWithGeneratedSections(): Promise<Document[]> {
  return Promise.all(
    Object.entries(SECTIONS).map(async ([name, { file, write }]) => {
      const path = fileURLToPath(new URL(`../../../../docs/${file}`, import.meta.url));
      const text = await readFile(path, 'utf8');
      const [start, end] = [`<!-- generated: ${name} -->`, '<!-- /generated -->'];
      const [head, rest] = text.split(start);
      const tail = rest?.split(end)[1];
      if (head === undefined || tail === undefined) throw new Error(`${path} has no section ${start} … ${end}`);
      return { path, text, current: `${head}${start}\n\n${write()}\n\n${end}${tail}` };
    }),
  );
}
