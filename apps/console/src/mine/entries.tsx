import type { LedgerEntry } from '@market/sdk';
import { shortened, words } from '../lib/format.js';
import { Cents, Time } from '../parts/values.js';

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
  const where = name === 'earnings' ? [place.slice(1).join(':')] : place.slice(-1).map(shortened);
  return [ACCOUNTS[name] ?? name, ...where].join(' ');
}

/** The URL of a page of an agent's entries as CSV. */
export const csvOf = (agentId: string, query: object): string =>
  new URLSearchParams({ ...query, format: 'csv', agent_id: agentId }).toString();

/** The entries of a ledger. */
export const Entries = ({ of: entries }: { of: LedgerEntry[] }) => (
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
        {entries.map((entry) => (
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
);
