import type { ReactNode } from 'react';

/** A table that scrolls on narrow screens. */
export const Table = ({ label, head, rows }: { label: string; head: string[]; rows: ReactNode[][] }) => (
  <div className="scroll" role="region" aria-label={label} tabIndex={0}>
    <table>
      <thead>
        <tr>
          {head.map((title) => (
            <th key={title}>{title}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells, row) => (
          <tr key={row}>
            {cells.map((cell, column) => (
              <td key={head[column]} className="clip">
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

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
