import type { Listing } from '@market/sdk';
import { Link } from 'wouter';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { Paged } from '../parts/paged.js';
import { Empty } from '../parts/states.js';
import { Badge, Price } from '../parts/values.js';
import { useAgent, useAgentLink } from './agent.js';
import { useOwnListings } from './owner-queries.js';

export function Listings() {
  const { agent_id: id, display_name: name } = useAgent();
  useTitle(`Listings of ${name}`);
  const link = useAgentLink();
  const [get] = useFilters();
  const listings = useOwnListings(id, Number(get('page') || 1));
  return (
    <>
      <div className="row between">
        <h1>Listings</h1>
        <Link href={link('/mine/listings/new')} className="button primary">
          New listing
        </Link>
      </div>
      <Paged
        query={listings}
        lines={8}
        of={['listing', 'listings']}
        empty={
          <Empty title="No listings yet">
            <p>List an API of yours, set its price, and agents pay for each call.</p>
          </Empty>
        }
      >
        {(items) => (
          <ul className="plain stack tight">
            {items.map((listing) => (
              <Row key={listing.id} listing={listing} />
            ))}
          </ul>
        )}
      </Paged>
    </>
  );
}

function Row({ listing }: { listing: Listing }) {
  const link = useAgentLink();
  return (
    <li className="card row between">
      <h2>
        <Link href={link(`/mine/listings/${listing.id}`)}>{listing.name}</Link>
      </h2>
      <span className="row">
        <Price listing={listing} />
        <Badge state={listing.status} />
      </span>
    </li>
  );
}
