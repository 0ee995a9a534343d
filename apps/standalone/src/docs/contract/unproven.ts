import type { ContractRow } from './contract-rows.js';
import type { TaggedTest } from './test-tags.js';

/** Rows without a test, and tags without a row. */
export function unproven(rows: ContractRow[], tests: TaggedTest[]): { rows: string[]; tags: string[] } {
  const known = new Set(rows.map(({ id }) => id));
  const proven = new Set(tests.flatMap(({ proves }) => proves));
  return {
    rows: [...known].filter((id) => !proven.has(id)),
    tags: tests.flatMap(({ file, proves }) => proves.filter((id) => !known.has(id)).map((id) => `${file}: ${id}`)),
  };
}
