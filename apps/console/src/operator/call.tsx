import { milliseconds, words } from '../lib/format.js';
import { useTitle } from '../lib/use-title.js';
import { Attempts } from '../parts/attempts.js';
import { Loaded } from '../parts/states.js';
import { Facts } from '../parts/table.js';
import { Badge, Cents, Hash, Time } from '../parts/values.js';
import { useInspectedCall } from './operator-queries.js';
import { Reference } from './reference.js';

/** A call with all its attempts. */
export function OperatorsCall({ id }: { id: string }) {
  useTitle('A call');
  const call = useInspectedCall(id);
  return (
    <>
      <h1>A call{call.data && ` of ${call.data.listing.name}`}</h1>
      <Loaded query={call} lines={8}>
        {(found) => (
          <div className="stack">
            <p>
              <Badge state={found.status} /> {found.error_code !== null && words(found.error_code)}
            </p>
            <Attempts of={found.attempts} />
            <Facts
              className="facts"
              facts={{
                Id: <code>{found.id}</code>,
                Buyer: <Reference to="agents" id={found.buyer_id} />,
                Seller: <Reference to="agents" id={found.seller_id} />,
                Listing: <Reference to="listings" id={found.listing.id} />,
                Payment: found.payment_id && <Reference to="payments" id={found.payment_id} />,
                Charged: <Cents cents={found.charged_amount.amount_cents} />,
                Fee: <Cents cents={found.fees.fee_amount_cents} />,
                Duration: found.latency_ms !== null && milliseconds(found.latency_ms),
                'Digest of the body': found.request_digest && <Hash of={found.request_digest} />,
                'Digest of the answer': found.response_digest && <Hash of={found.response_digest} />,
                Asked: <Time at={found.created_at} />,
                Completed: found.completed_at && <Time at={found.completed_at} />,
              }}
            />
          </div>
        )}
      </Loaded>
    </>
  );
}
