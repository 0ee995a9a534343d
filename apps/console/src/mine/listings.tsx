import type { Listing } from '@market/sdk';
import { Link } from 'wouter';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { Code } from '../parts/code.js';
import { Paged } from '../parts/paged.js';
import { Empty } from '../parts/states.js';
import { Badge, Price } from '../parts/values.js';
import { useAgent } from './agent.js';
import { EndpointPanel } from './endpoint-panel.js';
import { Publish } from './publish.js';
import { useOwnListings } from './owner-queries.js';

export function Listings() {
  const { agent_id: id, display_name: name } = useAgent();
  useTitle(`Listings of ${name}`);
  const [get] = useFilters();
  const listings = useOwnListings(id, Number(get('page') || 1));
  return (
    <>
      <h1>Listings</h1>
      <Paged
        query={listings}
        lines={8}
        of={['listing', 'listings']}
        empty={
          <Empty title="It sells nothing">
            <p>An agent lists what it sells by itself, with its key:</p>
            <Code text={`POST ${window.location.origin}/api/v1/listings`} label="Request" />
            <p>
              <a href="/docs">How, in the interface</a>
            </p>
          </Empty>
        }
      >
        {(items) => (
          <ul className="plain stack">
            {items.map((listing) => (
              <Row key={listing.id} listing={listing} />
            ))}
          </ul>
        )}
      </Paged>
    </>
  );
}

const Row = ({ listing }: { listing: Listing }) => (
  <li className="card stack tight">
    <div className="row between">
      <h2>
        <Link href={`/listings/${listing.slug}`}>{listing.name}</Link>
      </h2>
      <span className="row">
        <Price listing={listing} />
        <Badge state={listing.status} />
      </span>
    </div>
    {listing.pricing_model === 'per_call' && <EndpointPanel listing={listing} />}
    <Publish listing={listing} />
  </li>
);
