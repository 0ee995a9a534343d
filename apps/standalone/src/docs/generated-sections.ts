import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { configurationList } from './configuration-list.js';
import { refusalList } from './refusal-list.js';

export interface Document {
  /** Absolute. */
  path: string;
  /** The content of the file on disk. */
  text: string;
  /** The content that it should have, with sections generated from the present code. */
  current: string;
}

/** For each document, the content of its generated sections by name. */
const SECTIONS: Record<string, Record<string, () => string>> = {
  'operations.md': { configuration: configurationList },
  'errors.md': { refusals: refusalList },
};

/** The documents that hold sections between `<!-- generated: name -->` and `<!-- /generated -->`. */
export function documentsWithGeneratedSections(): Promise<Document[]> {
  return Promise.all(
    Object.entries(SECTIONS).map(async ([file, sections]) => {
      const path = fileURLToPath(new URL(`../../../../docs/${file}`, import.meta.url));
      const text = await readFile(path, 'utf8');
      return {
        path,
        text,
        current: Object.entries(sections).reduce(
          (document, [name, write]) => withSection(document, name, write()),
          text,
        ),
      };
    }),
  );
}

function withSection(document: string, name: string, content: string): string {
  const [start, end] = [`<!-- generated: ${name} -->`, '<!-- /generated -->'];
  const from = document.indexOf(start);
  const to = document.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`there is no section ${start} … ${end}`);
  return `${document.slice(0, from + start.length)}\n\n${content}\n\n${document.slice(to)}`;
}
