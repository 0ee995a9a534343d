import type { ReactNode } from 'react';

/** A table, whose rows are cards on narrow screens. Elements that are no tables there need the roles. */
export const Table = ({
  label,
  head,
  numbers = [],
  hasActions = false,
  rows,
}: {
  label: string;
  head: string[];
  /** The columns of numbers, by title. */
  numbers?: string[];
  /** Whether the last column holds buttons, and its title is for screen readers. */
  hasActions?: boolean;
  rows: ReactNode[][];
}) => {
  const isOfActions = (title: string): boolean => hasActions && title === head.at(-1);
  const classOf = (title: string): string => (numbers.includes(title) || isOfActions(title) ? 'number' : 'clip');
  return (
    <div className="scroll" role="region" aria-label={label} tabIndex={0}>
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            {head.map((title) => (
              <th key={title} role="columnheader" scope="col" className={classOf(title)}>
                {isOfActions(title) ? <span className="visually-hidden">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((cells, row) => (
            <tr key={row} role="row">
              {cells.map((cell, column) => {
                const title = head[column]!;
                return (
                  <td
                    key={title}
                    role="cell"
                    className={classOf(title)}
                    data-title={isOfActions(title) ? undefined : title}
                  >
                    {cell}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
};

/** A list of labelled values; undefined ones are omitted. */
export const Facts = ({ facts, className }: { facts: Record<string, ReactNode>; className?: string }) => {
  const known = Object.entries(facts).filter(
    ([, value]) => value !== null && value !== undefined && value !== false && value !== '',
  );
  return known.length === 0 ? null : (
    <dl className={className}>
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
};
