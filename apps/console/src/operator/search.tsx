import { useState, type FormEvent, type ReactNode } from 'react';
import { Link } from 'wouter';
import { words } from '../lib/format.js';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { Empty, Loaded } from '../parts/states.js';
import { Table } from '../parts/table.js';
import { Badge, Cents, Hash, Time, Usd } from '../parts/values.js';
import { useSearch } from './operator-queries.js';
import { Reference } from './reference.js';

/** Searches for anything by any known value. The query is in the URL, so that a link finds the same. */
export function Search() {
  useTitle('Search of operators');
  const [get, set] = useFilters();
  const q = get('q');
  const [typed, setTyped] = useState(q);
  const found = useSearch(q);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    set({ q: typed.trim() });
  };
  return (
    <>
      <h1>Search</h1>
      <form role="search" className="row bottoms" onSubmit={submit}>
        <label className="grow">
          <span>An id, a wallet, a name, a transaction, a relay request id, the prefix of a key</span>
          <input type="search" maxLength={200} value={typed} onChange={({ target }) => setTyped(target.value)} />
        </label>
        <button type="submit" className="primary">
          Find
        </button>
      </form>
      <p className="muted small">Each search and each look is written into the audit.</p>
      {q !== '' && (
        <Loaded query={found} lines={8}>
          {({ accounts, listings, payments, calls }) =>
            accounts.length + listings.length + payments.length + calls.length === 0 ? (
              <Empty title="Nothing is known by this" />
            ) : (
              <div className="stack">
                <Section title="Accounts" count={accounts.length}>
                  <Table
                    label="Accounts"
                    head={['Name', 'Kind', 'Wallet', 'Since', 'State']}
                    rows={accounts.map((account) => [
                      <Link href={`/operator/agents/${account.id}`}>{account.display_name}</Link>,
                      account.account_type,
                      account.wallet_address === null ? '–' : <Hash of={account.wallet_address} />,
                      <Time at={account.created_at} />,
                      account.is_suspended ? <Badge state="suspended" /> : <Badge state="active" />,
                    ])}
                  />
                </Section>
                <Section title="Listings" count={listings.length}>
                  <Table
                    label="Listings"
                    head={['Name', 'Seller', 'State']}
                    rows={listings.map((listing) => [
                      <Link href={`/operator/listings/${listing.id}`}>{listing.name}</Link>,
                      <Reference to="agents" id={listing.provider_id} />,
                      <>
                        <Badge state={listing.status} /> {listing.suspended_by && `by ${listing.suspended_by}`}
                      </>,
                    ])}
                  />
                </Section>
                <Section title="Payments" count={payments.length}>
                  <Table
                    label="Payments"
                    head={['When', 'Payment', 'For', 'State', 'Rail', 'Gross']}
                    rows={payments.map((payment) => [
                      <Time at={payment.created_at} />,
                      <Reference to="payments" id={payment.id} />,
                      payment.listing?.name ?? payment.purpose,
                      <Badge state={payment.state} />,
                      payment.rail,
                      <Usd usd={Number(payment.gross_usd)} />,
                    ])}
                  />
                </Section>
                <Section title="Calls" count={calls.length}>
                  <Table
                    label="Calls"
                    head={['When', 'Call', 'Listing', 'State', 'Why', 'Charged']}
                    rows={calls.map((call) => [
                      <Time at={call.created_at} />,
                      <Reference to="calls" id={call.id} />,
                      call.listing.name,
                      <Badge state={call.status} />,
                      call.error_code === null ? '–' : words(call.error_code),
                      <Cents cents={call.charged_amount.amount_cents} />,
                    ])}
                  />
                </Section>
              </div>
            )
          }
        </Loaded>
      )}
    </>
  );
}

const Section = ({ title, count, children }: { title: string; count: number; children: ReactNode }) =>
  count === 0 ? null : (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  );
