import { Link } from 'wouter';
import { count } from '../lib/format.js';
import { useTitle } from '../lib/use-title.js';
import { Loaded } from '../parts/states.js';
import { Facts } from '../parts/table.js';
import { Badge, Money, Time } from '../parts/values.js';
import { Act } from './act.js';
import { actions, useInspectedListing } from './operator-queries.js';
import { Reference } from './reference.js';

/** A listing in any state. */
export function OperatorsListing({ id }: { id: string }) {
  const listing = useInspectedListing(id);
  useTitle(listing.data?.name ?? 'A listing');
  return (
    <>
      <h1>{listing.data?.name ?? 'A listing'}</h1>
      <Loaded query={listing} lines={8}>
        {(found) => (
          <div className="stack">
            <div className="row">
              <Badge state={found.status} />
              {found.suspended_by && <span className="muted">by {found.suspended_by}</span>}
              {found.suspended_by === 'operator' ? (
                <Act
                  name="Release it"
                  title={`Release “${found.name}”?`}
                  act={(reason) => actions.releaseListing(found.id, reason)}
                >
                  It goes back to the state that it had.
                </Act>
              ) : (
                <Act
                  name="Suspend it"
                  title={`Suspend “${found.name}”?`}
                  needsReason
                  act={(reason) => actions.suspendListing(found.id, reason)}
                >
                  It leaves the market, and its owner cannot bring it back.
                </Act>
              )}
            </div>
            <p className="prose">{found.description}</p>
            <Facts
              className="facts"
              facts={{
                Id: <code>{found.id}</code>,
                Seller: (
                  <>
                    {found.provider_name} <Reference to="agents" id={found.provider_id} />
                  </>
                ),
                'On the market': <Link href={`/listings/${found.slug}`}>{found.slug}</Link>,
                Price: <Money micros={Number(found.price_micros)} />,
                Endpoint: found.endpoint_status && <Badge state={found.endpoint_status} />,
                'Failing since': found.failing_since && <Time at={found.failing_since} />,
                Purchases: found.purchases !== null && count(found.purchases),
                Made: <Time at={found.created_at} />,
                Changed: <Time at={found.updated_at} />,
                'Reads like': found.reads_like?.map((other) => <Reference key={other} to="listings" id={other} />),
              }}
            />
          </div>
        )}
      </Loaded>
    </>
  );
}
