import type { Statement } from './statement.js';

/** A PostgreSQL type stands for one value. Column definitions (`id uuid, name text`) stand for rows of such objects. */
type Parameters = Record<string, string>;

type Trim<S> = S extends ` ${infer Rest}` | `\n${infer Rest}` ? Trim<Rest> : S;
type NamesOf<D> = D extends `${infer First},${infer Rest}`
  ? NamesOf<First> | NamesOf<Rest>
  : Trim<D> extends `${infer Name} ${string}`
    ? Name
    : never;
type ValueOf<D> = NamesOf<D> extends never ? unknown : readonly Record<NamesOf<D>, unknown>[];

interface RowsSql<Name extends string> {
  /** The names of the columns, separated by commas. */
  columns: string;
  /** The rows as a table expression, named like the parameter. */
  table: string;
  /** Each column as one array. */
  arrays: Record<Name, string>;
}
type SqlOf<P> = { [N in keyof P]: NamesOf<P[N]> extends never ? string : RowsSql<NamesOf<P[N]>> };

/**
 * Defines a statement with named parameters. `write` receives the SQL of each parameter; `values` converts the values
 * for an execution. Rows are sent as one array for each column, so their number may vary.
 */
export function withParameters<const P extends Parameters, S extends Statement>(
  parameters: P,
  write: (sql: SqlOf<P>) => S,
): S & { values: (given: { [N in keyof P]: ValueOf<P[N]> }) => unknown[] } {
  const declared = Object.entries(parameters).map(([name, type]) => ({
    name,
    type,
    columns: type.includes(' ') ? type.split(',').map((column) => column.trim().split(' ') as [string, string]) : null,
  }));
  let count = 0;
  const placeholder = (type: string): string => `$${(count += 1)}::${type}`;
  const sql = declared.map(({ name, type, columns }): [string, string | RowsSql<string>] => {
    if (!columns) return [name, placeholder(type)];
    const arrays = columns.map(([column, columnType]) => [column, placeholder(`${columnType}[]`)] as const);
    const names = columns.map(([column]) => column).join(', ');
    const table = `unnest(${arrays.map(([, array]) => array).join(', ')}) AS ${name} (${names})`;
    return [name, { columns: names, table, arrays: Object.fromEntries(arrays) }];
  });
  return {
    ...write(Object.fromEntries(sql) as SqlOf<P>),
    values: (given: Record<string, unknown>) =>
      declared.flatMap(({ name, columns }): unknown[] => {
        if (!columns) return [given[name]];
        const rows = given[name] as Record<string, unknown>[];
        return columns.map(([column]) => rows.map((row) => row[column]));
      }),
  };
}
