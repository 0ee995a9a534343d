import type { LedgerEntry, LedgerQuery } from '@market/sdk';
import { exactUsd, microsOfCents, shortened, words } from '../lib/format.js';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { StepChart } from '../parts/charts.js';
import { DayFilter, Filter, instantsOf } from '../parts/filters.js';
import { Paged } from '../parts/paged.js';
import { Empty } from '../parts/states.js';
import { Cents, Time } from '../parts/values.js';
import { useAgent } from './agent.js';
import { useLedger } from './owner-queries.js';

const TYPES = ['direct_payment', 'seller_credit', 'marketplace_fee', 'adjustment'];
const ACCOUNTS: Record<string, string> = {
  earnings: 'Earned',
  received: 'Received',
  fees: 'Fees',
  payments: 'Paid',
  refunds: 'Owed back',
  owed: 'Owed to buyers',
};

export function Ledger() {
  const { agent_id: id, display_name: name } = useAgent();
  useTitle(`Ledger of ${name}`);
  const [get] = useFilters();
  const filters: LedgerQuery = {
    ...(get('type') && { type: get('type') as LedgerQuery['type'] }),
    ...(get('direction') && { direction: get('direction') as LedgerQuery['direction'] }),
    ...instantsOf(get('from'), get('to')),
  };
  const entries = useLedger(id, { ...filters, page: Number(get('page') || 1), limit: 50 });
  const csv = new URLSearchParams({ ...(filters as Record<string, string>), format: 'csv', agent_id: id });
  return (
    <>
      <div className="row between">
        <h1>Ledger</h1>
        <a className="button" href={`/api/v1/ledger?${csv}`} download="ledger.csv">
          Download as CSV
        </a>
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
            <div className="scroll" role="region" aria-label="Entries" tabIndex={0}>
              <table>
                <thead>
                  <tr>
                    <th>When</th>
                    <th>Type</th>
                    <th>Account</th>
                    <th>Listing</th>
                    <th className="number">Debit</th>
                    <th className="number">Credit</th>
                    <th className="number">Balance</th>
                  </tr>
                </thead>
                <tbody>
                  {items.map((entry) => (
                    <tr key={entry.id}>
                      <td>
                        <Time at={entry.created_at} />
                      </td>
                      <td>{words(entry.type)}</td>
                      <td title={entry.account}>{labelOf(entry.account)}</td>
                      <td className="clip">{entry.listing?.name ?? '–'}</td>
                      <td className="number">{entry.direction === 'debit' && <Cents cents={entry.amount_cents} />}</td>
                      <td className="number">{entry.direction === 'credit' && <Cents cents={entry.amount_cents} />}</td>
                      <td className="number">
                        <Cents cents={entry.balance_after_cents} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </>
        )}
      </Paged>
    </>
  );
}

/** `agent:{id}:{name}`, of what was received the wallet that it came to, and of what the operator has for the agent its network. */
function labelOf(account: string): string {
  const [, , name = '', ...place] = account.split(':');
  const where = name === 'earnings' ? [place.slice(1).join(':')] : place.slice(-1).map(shortened);
  return [ACCOUNTS[name] ?? name, ...where].join(' ');
}

/** What each account held over the time of the entries that are shown. */
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
