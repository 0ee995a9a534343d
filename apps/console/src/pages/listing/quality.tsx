import type { ListingDetail } from '@market/sdk';
import { useListingQuality } from '../../api/public-queries.js';
import { milliseconds, percent } from '../../lib/format.js';
import { LineChart } from '../../parts/charts.js';
import { Empty, Loaded } from '../../parts/states.js';

const DAYS = 30;
const DAY_MS = 86_400_000;

/** The quality of calls, as the marketplace measured it. */
export function Quality({ listing }: { listing: ListingDetail }) {
  const quality = useListingQuality(listing.id);
  return (
    <section aria-labelledby="quality">
      <h2 id="quality">How it does</h2>
      <Loaded query={quality} lines={5}>
        {(measured) => {
          if (measured.length === 0) return <Empty title={`Nothing was measured in the last ${DAYS} days`} />;
          const today = Date.parse(new Date().toISOString().slice(0, 10));
          const dates = Array.from({ length: DAYS }, (_, index) =>
            new Date(today - (DAYS - 1 - index) * DAY_MS).toISOString().slice(0, 10),
          );
          const found = new Map(measured.map((day) => [day.day, day]));
          const valuesOf = (name: 'success_rate' | 'p50_ms' | 'p95_ms') =>
            dates.map((date) => found.get(date)?.[name] ?? null);
          const days = dates.map((date) => new Date(`${date}T12:00:00`));
          return (
            <div className="two">
              <LineChart
                title="Success of paid calls"
                days={days}
                show={percent}
                most={1}
                series={[{ name: 'delivered', values: valuesOf('success_rate') }]}
              />
              <LineChart
                title="Time to answer"
                days={days}
                show={milliseconds}
                series={[
                  { name: 'half within', values: valuesOf('p50_ms') },
                  { name: '95 % within', values: valuesOf('p95_ms') },
                ]}
              />
              <p className="muted small">Failures that a single buyer had are left out.</p>
            </div>
          );
        }}
      </Loaded>
    </section>
  );
}
