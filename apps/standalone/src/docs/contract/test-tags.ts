import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { ContractRow } from './contract-rows.js';

/** A test whose title names the rows of the interface that it proves. */
export interface TaggedTest {
  /** The path relative to the repository's root. */
  file: string;
  /** Without the tag. */
  title: string;
  proves: string[];
}

const TEST_FILE = /\.(spec|int-spec|e2e-spec)\.ts$/;
/** A title in quotes, with the tag at its end. */
const TAGGED_TITLE = /(['"`])((?:\\.|(?!\1)[^\\\n])*?)\s*\[spec: ([^\]]+)\]\1/g;

/** A quoted text that continues on the next line. */
const CONTINUED = /(['"`]) \+\n\s*\1/g;

/** Any text in quotes that looks like names of rows. */
const NAMES = /(['"`])([a-z][a-z0-9-]*\.[^'"`$]*)\1/g;

/**
 * The titles of all tests that have a tag `[spec: <row>, <row>]`. If a table of cases fills in the rows (`[spec:
 * ${row}]`), the rows are the quoted names between the previous tagged title and this one, except operations, which are
 * named for other reasons too.
 * @throws Error for a tag that is not at a title's end.
 */
export async function taggedTests(repository: string, rows: ContractRow[]): Promise<TaggedTest[]> {
  const files = (
    await Promise.all(
      ['apps', 'libs'].map((folder) => readdir(join(repository, folder), { recursive: true, withFileTypes: true })),
    )
  ).flat();
  const tests = files
    .filter(
      (entry) => entry.isFile() && TEST_FILE.test(entry.name) && !/node_modules|\/dist(\/|$)/.test(entry.parentPath),
    )
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const found = await Promise.all(
    tests.map(async (path) => testsIn(relative(repository, path), await readFile(path, 'utf8'), rows)),
  );
  return found.flat();
}

export function testsIn(file: string, text: string, rows: Pick<ContractRow, 'id'>[]): TaggedTest[] {
  const source = text.replaceAll(CONTINUED, '');
  let previous = 0;
  const tests = [...source.matchAll(TAGGED_TITLE)].map(({ 0: { length }, 2: title, 3: tag, index }) => {
    const before = source.slice(previous, index);
    previous = index + length;
    return {
      file,
      title: title!.trim().replaceAll(/\\(['"`])/g, '$1'),
      proves: tag!.includes('$') ? namedIn(before, rows) : listOf(tag!),
    };
  });
  const tags = source.match(/\[spec: /g)?.length ?? 0;
  if (tags !== tests.length) throw new Error(`${file} has a tag that does not end the quoted title of a test`);
  return tests;
}

const listOf = (names: string): string[] => names.split(',').map((name) => name.trim());

function namedIn(source: string, rows: Pick<ContractRow, 'id'>[]): string[] {
  const known = new Set(rows.map(({ id }) => id));
  const lists = [...source.matchAll(NAMES)]
    .map(([, , text]) => listOf(text!))
    .filter((names) => names.every((name) => known.has(name)));
  return [...new Set(lists.flat())];
}
