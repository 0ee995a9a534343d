import type { Database } from './database.js';
import { GroupCommit } from './group-commit.js';
import type { Statement } from './statement.js';

const MAX_KEYS = 64;
/** Two concurrent statements, so that a slow one does not delay all others. */
const LANES = 2;

/**
 * Reads that concurrent requests share. Keys that are requested during a statement are read by the next one. Nothing is
 * cached, so a result is never older than its request. `lookupSql` builds the statements.
 */
export class GroupLookup<Row> {
  private readonly lookups: GroupCommit<string, Row[]>;

  constructor(database: Pick<Database, 'query'>, statement: Statement) {
    this.lookups = new GroupCommit(
      async (keys) => {
        const found = new Map(keys.map((key): [string, Row[]] => [key, []]));
        for (const row of await database.query<Row & { asked: string }>(statement, [[...found.keys()]]))
          found.get(row.asked)!.push(row);
        return keys.map((key) => found.get(key)!);
      },
      { maxSize: MAX_KEYS, lanes: LANES },
    );
  }

  find(key: string): Promise<Row[]> {
    return this.lookups.submit(key);
  }
}

/**
 * Extends a SELECT that finds the rows of one key, `asked.key`, to any number of keys. Each row contains its key as
 * `asked`. Each key is looked up separately, because a join that was planned for a small table would read all of a
 * large one.
 */
export const lookupSql = (select: string): string =>
  `SELECT asked.key AS asked, found.* FROM unnest($1::text[]) AS asked (key) CROSS JOIN LATERAL (${select} OFFSET 0) found`;
