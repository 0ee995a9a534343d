import type { Statement } from './statement.js';

/** The columns of rows that are written: the type of each, and its value for an item. */
export type Columns<T> = Record<string, readonly [type: string, valueOf: (item: T) => unknown]>;

type Parameters = Record<string, string | Columns<never>>;
type ItemOf<C> = C[keyof C] extends readonly [string, (item: infer T) => unknown] ? T : never;
type ValuesOf<P> = { [N in keyof P]: P[N] extends string ? unknown : readonly ItemOf<P[N]>[] };

interface RowsSql<C> {
  /** The names of the columns, with commas between them. */
  columns: string;
  /** The rows as a table expression, which has the name of the parameter. */
  table: string;
  /** Each column as one array. */
  arrays: Record<keyof C, string>;
}
type SqlOf<P> = { [N in keyof P]: P[N] extends string ? string : RowsSql<P[N]> };

/**
 * A statement whose parameters have names: a type stands for one value, columns stand for any number of rows, which are sent as an array a
 * column. `write` gets the SQL of each parameter; `values` takes what the statement is executed with.
 */
export function withParameters<const P extends Parameters, S extends Statement>(
  parameters: P,
  write: (sql: SqlOf<P>) => S,
): S & { values: (given: ValuesOf<P>) => unknown[] } {
  let count = 0;
  const placeholder = (type: string): string => `$${(count += 1)}::${type}`;
  const rowsSql = (name: string, types: Columns<never>): RowsSql<Columns<never>> => {
    const arrays = Object.fromEntries(
      Object.entries(types).map(([column, [type]]) => [column, placeholder(`${type}[]`)]),
    );
    const columns = Object.keys(types).join(', ');
    return { columns, arrays, table: `unnest(${Object.values(arrays).join(', ')}) AS ${name} (${columns})` };
  };
  const entries = Object.entries(parameters);
  const sql = entries.map(([name, type]) => [name, typeof type === 'string' ? placeholder(type) : rowsSql(name, type)]);
  return {
    ...write(Object.fromEntries(sql) as SqlOf<P>),
    values: (given: Record<string, unknown>) =>
      entries.flatMap(([name, type]): unknown[] =>
        typeof type === 'string'
          ? [given[name]]
          : Object.values(type).map(([, valueOf]) => (given[name] as never[]).map((item) => valueOf(item))),
      ),
  };
}
