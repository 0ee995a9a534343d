import { monthName, words } from '../lib/format.js';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { Pager } from '../parts/pager.js';
import { Empty, Loaded } from '../parts/states.js';
import { Facts, Table } from '../parts/table.js';
import { Money } from '../parts/values.js';
import { useAgent } from './agent.js';
import { csvOf, Entries, labelOf } from './entries.js';
import { useStatement } from './owner-queries.js';

const MONTHS = 12;

/** A month of an agent's books, with opening and closing balances. */
export function Statements() {
  const { agent_id: id, display_name: name } = useAgent();
  useTitle(`Statements of ${name}`);
  const [get, set] = useFilters();
  const months = lastMonths();
  const month = get('month') || months[0]!;
  const page = { page: Number(get('page') || 1), limit: 100 };
  const statement = useStatement(id, month, page);
  return (
    <>
      <div className="row between">
        <h1>Statements</h1>
        <a className="button" href={`/api/v1/statements/${month}?${csvOf(id, page)}`} download={`${month}.csv`}>
          Download this page as CSV
        </a>
      </div>
      <form className="filters" onSubmit={(event) => event.preventDefault()}>
        <label className="wide">
          <span>Month, of UTC</span>
          <select value={month} onChange={({ target }) => set({ month: target.value })}>
            {[...new Set([...months, month])].map((shown) => (
              <option key={shown} value={shown}>
                {monthName(shown)}
              </option>
            ))}
          </select>
        </label>
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
              <Empty title="Nothing is booked in this month" />
            ) : (
              <>
                <Table
                  label="Accounts"
                  head={['Account', 'Opening balance', 'Closing balance']}
                  rows={accounts.map((account) => [
                    <span title={account.account}>{labelOf(account.account)}</span>,
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

/** Months like `2026-11`, the current one first. */
function lastMonths(): string[] {
  const now = new Date();
  return Array.from({ length: MONTHS }, (_, ago) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago)).toISOString().slice(0, 7),
  );
}
