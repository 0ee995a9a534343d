import { useMutation } from '@tanstack/react-query';
import type { LedgerEntry } from '@market/sdk';
import { ApiError, reach } from '../api/client.js';
import { networkName, shortened, words } from '../lib/format.js';
import { Table } from '../parts/table.js';
import { Cents, Time } from '../parts/values.js';
import { useAgent } from './agent.js';

const ACCOUNTS: Record<string, string> = {
  earnings: 'Earned',
  received: 'Received',
  fees: 'Fees',
  payments: 'Paid',
  refunds: 'Owed back',
  owed: 'Owed to buyers',
};

/**
 * Formats `agent:{id}:{name}`. Received money is shown with its wallet, and money that the operator owes with its
 * network.
 */
export function labelOf(account: string): string {
  const [, , name = '', ...place] = account.split(':');
  const where =
    name === 'earnings' && place.length > 1
      ? [`on ${networkName(place.slice(1).join(':'))}`]
      : place.slice(-1).map(shortened);
  return [ACCOUNTS[name] ?? name, ...where].join(' ');
}

/** Saves all entries that an address of the interface lists, page by page, as one file. */
export function SaveAsCsv({ path, query = {}, name }: { path: string; query?: object; name: string }) {
  const { agent_id: id } = useAgent();
  const save = useMutation({
    mutationFn: async () => {
      const pages: string[] = [];
      for (let cursor: string | undefined = ''; cursor !== undefined;) {
        const asked = { ...query, format: 'csv', limit: '100', agent_id: id, ...(cursor && { cursor }) };
        const answer = await reach(new Request(`/api/v1/${path}?${new URLSearchParams(asked).toString()}`));
        if (!answer.ok) throw await ApiError.of(answer);
        const text = await answer.text();
        // Only the first page keeps its line of titles.
        pages.push(cursor === '' ? text : text.slice(text.indexOf('\r\n') + 2));
        cursor = /[?&]cursor=([^&>]+)[^>]*>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
      }
      const address = URL.createObjectURL(new Blob(pages, { type: 'text/csv' }));
      Object.assign(document.createElement('a'), { href: address, download: `${name}.csv` }).click();
      URL.revokeObjectURL(address);
    },
  });
  return (
    <span className="row">
      {save.isError && <span role="alert">{save.error.message}</span>}
      <button type="button" disabled={save.isPending} onClick={() => save.mutate()}>
        Download as CSV
      </button>
    </span>
  );
}

/** The entries of a ledger. */
export const Entries = ({ of: entries }: { of: LedgerEntry[] }) => (
  <Table
    label="Entries"
    head={['When', 'Type', 'Account', 'Listing', 'Debit', 'Credit', 'Balance']}
    numbers={['Debit', 'Credit', 'Balance']}
    rows={entries.map((entry) => [
      <Time at={entry.created_at} />,
      words(entry.type),
      labelOf(entry.account),
      entry.listing?.name ?? '–',
      entry.direction === 'debit' && <Cents cents={entry.amount_cents} />,
      entry.direction === 'credit' && <Cents cents={entry.amount_cents} />,
      <Cents cents={entry.balance_after_cents} />,
    ])}
  />
);
