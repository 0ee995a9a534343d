import { periodName, words } from '../lib/format.js';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { Pager } from '../parts/pager.js';
import { Empty, Loaded } from '../parts/states.js';
import { Facts, Table } from '../parts/table.js';
import { Money } from '../parts/values.js';
import { useAgent } from './agent.js';
import { Entries, labelOf, SaveAsCsv } from './entries.js';
import { useStatement } from './owner-queries.js';

const CHOSEN_DAYS = 'days';

/** A period of an agent's books, with opening and closing balances. */
export function Statements() {
  const { agent_id: id, display_name: name } = useAgent();
  useTitle(`Statements of ${name}`);
  const [get, set] = useFilters();
  const periods = lastPeriods();
  const period = get('period') || periods.Months[0]!;
  const statement = useStatement(id, period, { page: Number(get('page') || 1), limit: 100 });
  const days = period.includes('--') ? (period.split('--') as [string, string]) : undefined;
  const choose = (chosen: string): void =>
    set({ period: chosen === CHOSEN_DAYS ? `${today().slice(0, 8)}01--${today()}` : chosen });
  const day = (label: string, at: 0 | 1) => (
    <label>
      <span>{label}</span>
      <input
        type="date"
        required
        value={days![at]}
        onChange={({ target }) => target.value && set({ period: days!.with(at, target.value).join('--') })}
      />
    </label>
  );
  return (
    <>
      <div className="row between">
        <h1>Statements</h1>
        <SaveAsCsv path={`statements/${period}`} name={period} />
      </div>
      <form className="filters" onSubmit={(event) => event.preventDefault()}>
        <label className="wide">
          <span>Period (UTC)</span>
          <select value={days ? CHOSEN_DAYS : period} onChange={({ target }) => choose(target.value)}>
            {Object.entries(periods).map(([kind, names]) => (
              <optgroup key={kind} label={kind}>
                {names.map((shown) => (
                  <option key={shown} value={shown}>
                    {periodName(shown)}
                  </option>
                ))}
              </optgroup>
            ))}
            <option value={CHOSEN_DAYS}>From day to day</option>
          </select>
        </label>
        {days && day('From', 0)}
        {days && day('To', 1)}
      </form>
      <Loaded query={statement} lines={12}>
        {({ statement: { opening_balance, closing_balance, accounts, totals }, data, pagination }) => (
          <div className="stack">
            <Facts
              className="numbers"
              facts={{
                'Opening balance': <Amount of={opening_balance} />,
                ...Object.fromEntries(
                  Object.entries(totals)
                    .filter(([, { micros }]) => micros !== '0')
                    .map(([total, amount]) => [words(total), <Amount of={amount} />]),
                ),
                'Closing balance': <Amount of={closing_balance} />,
              }}
            />
            {data.length === 0 ? (
              <Empty title="Nothing is booked in this period" />
            ) : (
              <>
                <Table
                  label="Accounts"
                  head={['Account', 'Opening balance', 'Closing balance']}
                  numbers={['Opening balance', 'Closing balance']}
                  rows={accounts.map((account) => [
                    labelOf(account.account),
                    <Amount of={account.opening_balance} />,
                    <Amount of={account.closing_balance} />,
                  ])}
                />
                <Entries of={data} />
                <Pager
                  pages={pagination}
                  of={['entry', 'entries']}
                  go={(to) => set({ page: String(to) }, { keepPage: true })}
                />
              </>
            )}
          </div>
        )}
      </Loaded>
    </>
  );
}

const Amount = ({ of: { micros } }: { of: { micros: string } }) => <Money micros={Number(micros)} />;

const today = (): string => new Date().toISOString().slice(0, 10);

/** The latest periods, the current ones first. */
function lastPeriods(): Record<'Months' | 'Quarters' | 'Years', string[]> {
  const now = new Date();
  const months = Array.from({ length: 24 }, (_, ago) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago)).toISOString().slice(0, 7),
  );
  const quarterOf = (month: string): string => `${month.slice(0, 4)}-Q${Math.ceil(Number(month.slice(5)) / 3)}`;
  return {
    Months: months.slice(0, 12),
    Quarters: [...new Set(months.map(quarterOf))],
    Years: [...new Set(months.map((month) => month.slice(0, 4)))],
  };
}
