import type { ReactNode } from 'react';
import { dayName } from '../lib/format.js';
import { Empty } from './states.js';

export interface Series {
  name: string;
  /** One value per day. */
  values: number[];
}

/** The drawing is scaled to the available width, so it contains no text. */
const WIDTH = 1_000;
const HEIGHT = 150;

interface ChartProps {
  title: string;
  days: Date[];
  show: (value: number) => string;
}

/** A bar chart with a group per day, and a text alternative. Without a value it says `empty`. */
export function BarChart({
  title,
  days,
  series,
  show,
  empty,
}: ChartProps & {
  series: Series[];
  empty: string;
}) {
  const most = Math.max(...series.flatMap(({ values }) => values), 0);
  if (most === 0) return <Empty title={title}>{empty}</Empty>;
  const top = scaleFor(most);
  const slot = WIDTH / days.length;
  const bar = (slot * 0.7) / series.length;
  const totals = series.map(({ name, values }) => `${name} ${show(values.reduce((sum, value) => sum + value, 0))}`);
  return (
    <Chart
      title={title}
      legend={totals}
      label={`${title}: ${totals.join(', ')}`}
      days={days}
      scale={[show(top), show(top / 2), show(0)]}
    >
      {days.map((day, at) => (
        <g key={day.getTime()}>
          {series.map(({ name, values }, index) => {
            const height = Math.max(values[at]! > 0 ? 2 : 0, (values[at]! / top) * HEIGHT);
            return (
              <rect
                key={name}
                className={`series-${index}`}
                x={at * slot + (slot - bar * series.length) / 2 + index * bar}
                y={HEIGHT - height}
                width={Math.max(1, bar - 1)}
                height={height}
              >
                <title>{`${dayName(day)}: ${name} ${show(values[at]!)}`}</title>
              </rect>
            );
          })}
        </g>
      ))}
    </Chart>
  );
}

/** A step chart of an account's balance after each entry, oldest first. A balance is valid until the next entry. */
export function StepChart({
  title,
  points,
  show,
}: {
  title: string;
  points: { at: Date; value: number }[];
  show: (value: number) => string;
}) {
  const [first, last] = [points[0]!, points.at(-1)!];
  const values = points.map(({ value }) => value);
  const [least, most] = [0 - scaleFor(-Math.min(0, ...values)), scaleFor(Math.max(0, ...values))];
  const span = Math.max(1, last.at.getTime() - first.at.getTime());
  const x = (at: Date): number => ((at.getTime() - first.at.getTime()) / span) * WIDTH;
  const y = (value: number): number => HEIGHT - ((value - least) / Math.max(1, most - least)) * HEIGHT;
  const path = points
    .map(({ at, value }, index) =>
      index === 0 ? `M0 ${y(value).toFixed(1)}` : `H${x(at).toFixed(1)}V${y(value).toFixed(1)}`,
    )
    .join('');
  return (
    <Chart
      title={title}
      legend={[`now ${show(last.value)}`]}
      label={`${title}: from ${show(first.value)} to ${show(last.value)}`}
      days={[first.at, last.at]}
      scale={[show(most), show((most + least) / 2), show(least)]}
    >
      <path className="area" d={`${path}H${WIDTH}V${y(0).toFixed(1)}H0Z`} />
      <path className="line" d={`${path}H${WIDTH}`} />
    </Chart>
  );
}

/**
 * A line chart with a value per day, and gaps on days without data. `most` is the maximum of the scale, if there is
 * one.
 */
export function LineChart({
  title,
  days,
  series,
  show,
  most,
}: ChartProps & { series: { name: string; values: (number | null)[] }[]; most?: number }) {
  const top = most ?? scaleFor(Math.max(...series.flatMap(({ values }) => values.map((value) => value ?? 0)), 1));
  const slot = WIDTH / days.length;
  const y = (value: number): string => (HEIGHT - 3 - (value / top) * (HEIGHT - 6)).toFixed(1);
  const path = (values: (number | null)[]): string =>
    values
      .map((value, at) => {
        if (value === null) return '';
        const isJoined = at > 0 && values[at - 1] !== null;
        return `${isJoined ? `V${y(value)}` : `M${(at * slot).toFixed(1)} ${y(value)}`}H${((at + 1) * slot).toFixed(1)}`;
      })
      .join('');
  const latest = series.map(({ name, values }) => `${name} ${show(values.findLast((value) => value !== null) ?? 0)}`);
  return (
    <Chart
      title={title}
      legend={latest}
      label={`${title}, lately: ${latest.join(', ')}`}
      days={days}
      scale={[show(top), show(top / 2), show(0)]}
    >
      {series.map(({ name, values }, index) => (
        <path key={name} className={`line series-${index}`} d={path(values)} />
      ))}
    </Chart>
  );
}

/** The end of a scale on which also its middle is a short number: 2, 4, 6, 8 or 10 times a power of ten. */
function scaleFor(most: number): number {
  if (most <= 0) return 0;
  const power = 10 ** Math.floor(Math.log10(most));
  return [2, 4, 6, 8, 10].find((step) => most <= step * power)! * power;
}

interface FrameProps {
  title: string;
  /** The meaning of each series' color. */
  legend: string[];
  /** The text alternative of the drawing. */
  label: string;
  /** What the horizontal axis covers. */
  days: Date[];
  /** The values of the vertical axis, from its top. */
  scale: string[];
  children: ReactNode;
}

const Chart = ({ title, legend, label, days, scale, children }: FrameProps) => (
  <figure className="chart">
    <figcaption>
      <strong>{title}</strong>
      <span className="legend">
        {legend.map((text, index) => (
          <span key={text} className={`series-${index}`}>
            {text}
          </span>
        ))}
      </span>
    </figcaption>
    <div className="plot">
      <div className="scale" aria-hidden="true">
        {scale.map((value, index) => (
          <span key={index}>{value}</span>
        ))}
      </div>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        <path className="grid" d={`M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}`} />
        {children}
      </svg>
      <p className="axis">
        {[...new Set([days[0]!, days[Math.floor((days.length - 1) / 2)]!, days.at(-1)!].map(dayName))].map((day) => (
          <span key={day}>{day}</span>
        ))}
      </p>
    </div>
  </figure>
);
