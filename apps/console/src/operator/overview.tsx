import { count, exactUsd, milliseconds, percent, shortUsd } from '../lib/format.js';
import { useTitle } from '../lib/use-title.js';
import { BarChart } from '../parts/charts.js';
import { Loaded } from '../parts/states.js';
import { Facts, Table } from '../parts/table.js';
import { Badge, Usd } from '../parts/values.js';
import { useOverview } from './operator-queries.js';

const micros = (usd: string): number => Math.round(Number(usd) * 1_000_000);

export function OperatorsOverview() {
  useTitle('Operators');
  const overview = useOverview();
  return (
    <>
      <h1>Overview</h1>
      <Loaded query={overview} lines={12}>
        {({ money, calls, services }) => {
          const sum = (values: string[]): number => values.reduce((total, usd) => total + Number(usd), 0);
          const delivered = calls.days.reduce((total, day) => total + day.delivered, 0);
          const failed = calls.days.reduce((total, day) => total + day.failed, 0);
          return (
            <div className="stack">
              <Facts
                className="numbers"
                facts={{
                  Volume: <Usd usd={sum(money.days.map(({ volume_usd }) => volume_usd))} />,
                  Revenue: <Usd usd={sum(money.days.map(({ revenue_usd }) => revenue_usd))} />,
                  'Calls delivered': delivered + failed === 0 ? '–' : percent(delivered / (delivered + failed)),
                  'Fees due': <Usd usd={Number(money.fees_due_usd)} />,
                  'Refunds due': (
                    <>
                      <Usd usd={Number(money.refunds_due.amount_usd)} />{' '}
                      {money.refunds_due.payments > 0 && `of ${count(money.refunds_due.payments)}`}
                    </>
                  ),
                  'Owed to sellers': <Usd usd={Number(money.payable_usd)} />,
                  Unexplained: (
                    <>
                      <Usd usd={Number(money.unexplained_usd)} />{' '}
                      {money.unexplained_usd !== '0' && <Badge state="failing" />}
                    </>
                  ),
                }}
              />
              <BarChart
                title="Volume and revenue, US dollars a day"
                empty="Nothing was sold in the last 14 days."
                days={daysOf(money.days)}
                show={(value) => shortUsd(value)}
                series={[
                  { name: 'volume', values: money.days.map(({ volume_usd }) => micros(volume_usd)) },
                  { name: 'revenue', values: money.days.map(({ revenue_usd }) => micros(revenue_usd)) },
                ]}
              />
              <BarChart
                title="Paid calls a day"
                empty="No call was paid in the last 14 days."
                days={daysOf(calls.days)}
                show={count}
                series={[
                  { name: 'delivered', values: calls.days.map((day) => day.delivered) },
                  { name: 'failed', values: calls.days.map((day) => day.failed) },
                ]}
              />
              <section>
                <h2>Rails</h2>
                <Table
                  label="Rails"
                  head={['Rail', 'Open', 'Overdue', 'Refunds due', 'Settling', 'Oldest settlement']}
                  rows={money.rails.map((rail) => [
                    <>
                      {rail.id} <Badge state={rail.overdue > 0 ? 'failing' : 'active'} />
                    </>,
                    count(rail.open),
                    count(rail.overdue),
                    count(rail.refunds_due),
                    count(rail.settling),
                    age(rail.oldest_settlement_seconds),
                  ])}
                />
              </section>
              <section>
                <h2>Queues of events</h2>
                <Table
                  label="Queues of events"
                  head={['Service', 'Unpublished', 'Oldest', 'Tried again', 'Could not be handled']}
                  rows={services.map(({ service, queues }) =>
                    queues === null
                      ? [
                          <>
                            {service} <Badge state="failing" />
                          </>,
                          'out of reach',
                          '–',
                          '–',
                          '–',
                        ]
                      : [
                          <>
                            {service} <Badge state={queues.dead_letters > 0 ? 'failing' : 'active'} />
                          </>,
                          count(queues.unpublished),
                          queues.unpublished === 0 ? '–' : age(queues.oldest_unpublished_seconds),
                          count(queues.parked),
                          count(queues.dead_letters),
                        ],
                  )}
                />
              </section>
              <p className="muted small">
                Unexplained is {exactUsd(micros(money.unexplained_usd))}: the sum of all balances of the books, which is
                zero. The numbers of this page move by themselves.
              </p>
            </div>
          );
        }}
      </Loaded>
    </>
  );
}

const age = (seconds: number | null): string => (seconds === null ? '–' : milliseconds(seconds * 1_000));
/** Converts days of UTC to local dates with the same name. */
const daysOf = (days: { day: string }[]): Date[] => days.map(({ day }) => new Date(`${day}T12:00:00`));
