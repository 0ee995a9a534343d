import type { Database } from './database.js';
import { GroupCommit } from './group-commit.js';
import type { Statement } from './statement.js';

const MAX_KEYS = 64;
/** So that a look-up that takes long does not hold up all others. */
const LANES = 2;

/**
 * Reads that concurrent requests share: keys that are asked for while others are being read are read by the next statement. Nothing is
 * kept, so what is found is never older than the request for it. `lookupSql` writes such statements.
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
      MAX_KEYS,
      LANES,
    );
  }

  find(key: string): Promise<Row[]> {
    return this.lookups.submit(key);
  }
}

/**
 * A SELECT that finds the rows of one key, `asked.key`, written for any number of keys, and each row with its key as `asked`. Each key is
 * looked up by itself: a join could be planned when a table was small, and read all of it when it is large.
 */
export const lookupSql = (select: string): string =>
  `SELECT asked.key AS asked, found.* FROM unnest($1::text[]) AS asked (key) CROSS JOIN LATERAL (${select} OFFSET 0) found`;
