import { words } from '../lib/format.js';
import { useTitle } from '../lib/use-title.js';
import { Loaded } from '../parts/states.js';
import { Facts, Table } from '../parts/table.js';
import { Badge, Hash, Time, Usd } from '../parts/values.js';
import { useInspectedPayment } from './operator-queries.js';
import { Reference } from './reference.js';

/** A payment with its signatures and its journal entries. */
export function PaymentPage({ id }: { id: string }) {
  useTitle('A payment');
  const payment = useInspectedPayment(id);
  return (
    <>
      <h1>A payment</h1>
      <Loaded query={payment} lines={10}>
        {(found) => (
          <div className="stack">
            <p>
              <Badge state={found.state} /> <Usd usd={Number(found.gross_usd)} /> for a {found.purpose}
              {found.listing && ` of ${found.listing.name}`}
            </p>
            <Facts
              className="facts"
              facts={{
                Id: <code>{found.id}</code>,
                Buyer: <Reference to="agents" id={found.buyer_id} />,
                Seller: <Reference to="agents" id={found.seller_id} />,
                Call: found.gateway_request_id && <Reference to="calls" id={found.gateway_request_id} />,
                Fee: <Usd usd={Number(found.fee_usd)} />,
                Rail: `${found.rail} (${found.scheme}, ${found.network})`,
                Asked: `${found.amount} ${found.currency}`,
                Received: `${found.received_amount} ${found.currency}`,
                'Paid to': (
                  <>
                    <Hash of={found.pay_to} /> ({found.payee})
                  </>
                ),
                'Relay request id': <Hash of={found.relay_request_id} />,
                Transaction: found.transaction_hash && <Hash of={found.transaction_hash} />,
                Offered: <Time at={found.created_at} />,
                'Offer ends': <Time at={found.expires_at} />,
                'May be repeated until': found.retry_until && <Time at={found.retry_until} />,
                Completed: found.completed_at && <Time at={found.completed_at} />,
              }}
            />
            {found.authorizations.length > 0 && (
              <section>
                <h2>Signatures</h2>
                <Table
                  label="Signatures"
                  head={['When', 'Payer', 'State', 'Handed in', 'Why', 'Good until']}
                  rows={found.authorizations.map((authorization) => [
                    <Time at={authorization.created_at} />,
                    <Hash of={authorization.payer} />,
                    <Badge state={authorization.state} />,
                    `${authorization.attempts} times`,
                    authorization.reason ?? '–',
                    <Time at={authorization.valid_before} />,
                  ])}
                />
              </section>
            )}
            {found.entries.length > 0 && (
              <section>
                <h2>Booked</h2>
                <Table
                  label="Booked"
                  head={['When', 'Why', 'Account', 'Debit', 'Credit']}
                  rows={found.entries.map(({ recorded_at, reason, account, direction, amount_usd }) => [
                    <Time at={recorded_at} />,
                    words(reason),
                    <code title={account}>{account}</code>,
                    direction === 'debit' && <Usd usd={Number(amount_usd)} />,
                    direction === 'credit' && <Usd usd={Number(amount_usd)} />,
                  ])}
                />
              </section>
            )}
          </div>
        )}
      </Loaded>
    </>
  );
}
