/** A statement with parameters. */
export interface Statement {
  /** A statement without a name is planned for the values of each execution. */
  readonly name?: string;
  readonly text: string;
}

/** A statement that each connection prepares once, under its name. */
export interface PreparedStatement extends Statement {
  readonly name: string;
}

const texts = new Map<string, string>();

/** Defines a named statement. A name must always have the same text. `name` is `<table or topic>.<what it does>`. */
export function sql(name: string, text: string): PreparedStatement {
  const known = texts.get(name);
  if (known !== undefined && known !== text) throw new Error(`two statements are called ${name}`);
  texts.set(name, text);
  return { name, text };
}

/** Returns a page of rows that were read with one extra row, which shows whether there is another page. */
export function pageOfRows<Row extends { id: string }>(
  rows: Row[],
  limit: number,
): { rows: Row[]; nextCursor: string | null } {
  return { rows: rows.slice(0, limit), nextCursor: rows.length > limit ? rows[limit - 1]!.id : null };
}

/**
 * Defines a statement that joins arrays of values with a growing table. It is planned for each execution, because a
 * cached plan from a time when the table was small would read all of a large table. A group shares the cost of
 * planning.
 */
export const batchSql = (text: string): Statement => ({ text });
