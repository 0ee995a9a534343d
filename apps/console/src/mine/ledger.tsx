import type { LedgerEntry, LedgerQuery } from '@market/sdk';
import { exactUsd, microsOfCents, words } from '../lib/format.js';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { StepChart } from '../parts/charts.js';
import { DayFilter, Filter, instantsOf } from '../parts/filters.js';
import { Paged } from '../parts/paged.js';
import { Empty } from '../parts/states.js';
import { useAgent } from './agent.js';
import { Entries, labelOf, SaveAsCsv } from './entries.js';
import { useLedger } from './owner-queries.js';

const TYPES = ['direct_payment', 'seller_credit', 'marketplace_fee', 'adjustment'];
export function Ledger() {
  const { agent_id: id, display_name: name } = useAgent();
  useTitle(`Ledger of ${name}`);
  const [get] = useFilters();
  const filters: LedgerQuery = {
    ...(get('type') && { type: get('type') as LedgerQuery['type'] }),
    ...(get('direction') && { direction: get('direction') as LedgerQuery['direction'] }),
    ...instantsOf(get('from'), get('to')),
  };
  const page = { page: Number(get('page') || 1), limit: 50 };
  const entries = useLedger(id, { ...filters, ...page });
  return (
    <>
      <div className="row between">
        <h1>Ledger</h1>
        <SaveAsCsv path="ledger" query={filters} name="ledger" />
      </div>
      <form className="filters" onSubmit={(event) => event.preventDefault()}>
        <Filter name="type" label="Type" options={Object.fromEntries(TYPES.map((type) => [type, words(type)]))} />
        <Filter name="direction" label="Direction" options={{ debit: 'debit', credit: 'credit' }} />
        <DayFilter name="from" label="From" />
        <DayFilter name="to" label="To" />
      </form>
      <Paged query={entries} lines={12} of={['entry', 'entries']} empty={<Empty title="Nothing is booked here" />}>
        {(items) => (
          <>
            <Balances entries={items} />
            <Entries of={items} />
          </>
        )}
      </Paged>
    </>
  );
}

/** A chart of the balances of each account over the time of the shown entries. */
function Balances({ entries }: { entries: LedgerEntry[] }) {
  const accounts = [...new Set(entries.map(({ account }) => account))].sort();
  return (
    <div className="two">
      {accounts
        .map((account) => ({ account, of: entries.filter((entry) => entry.account === account) }))
        .filter(({ of }) => of.length > 1)
        .map(({ account, of }) => (
          <StepChart
            key={account}
            title={`${labelOf(account)}, balance over these entries`}
            show={exactUsd}
            points={of
              .map(({ created_at, balance_after_cents }) => ({
                at: new Date(created_at),
                value: microsOfCents(balance_after_cents),
              }))
              .reverse()}
          />
        ))}
    </div>
  );
}
