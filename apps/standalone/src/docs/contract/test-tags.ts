import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** A test that says which rows of the interface it proves. */
export interface TaggedTest {
  /** From the repository's root. */
  file: string;
  /** Without the tag. */
  title: string;
  proves: string[];
}

const TEST_FILE = /\.(spec|int-spec|e2e-spec)\.ts$/;
/** A title in quotes, with the tag at its end. */
const TAGGED_TITLE = /(['"`])((?:(?!\1).)*?)\s*\[spec: ([^\]]+)\]\1/g;

/** The titles of all tests that carry `[spec: <row>, <row>]`. @throws Error for a tag that stands elsewhere than at a title's end. */
export async function taggedTests(repository: string): Promise<TaggedTest[]> {
  const files = (await Promise.all(['apps', 'libs'].map((folder) => readdir(join(repository, folder), { recursive: true, withFileTypes: true })))).flat();
  const tests = files
    .filter((entry) => entry.isFile() && TEST_FILE.test(entry.name) && !/node_modules|\/dist(\/|$)/.test(entry.parentPath))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const found = await Promise.all(tests.map(async (path) => testsIn(relative(repository, path), await readFile(path, 'utf8'))));
  return found.flat();
}

export function testsIn(file: string, source: string): TaggedTest[] {
  const tests = [...source.matchAll(TAGGED_TITLE)].map(([, , title, ids]) => ({ file, title: title!.trim().replaceAll(/\\(['"`])/g, '$1'), proves: ids!.split(',').map((id) => id.trim()) }));
  const tags = source.match(/\[spec: /g)?.length ?? 0;
  if (tags !== tests.length) throw new Error(`${file} has a tag that does not end the quoted title of a test`);
  return tests;
}
