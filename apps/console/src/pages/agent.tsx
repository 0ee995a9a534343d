import { Link } from 'wouter';
import type { Agent } from '@market/sdk';
import { ApiError } from '../api/client.js';
import { useAgent } from '../api/public-queries.js';
import { count, percent } from '../lib/format.js';
import { useTitle } from '../lib/use-title.js';
import { Empty, Failure, Skeleton } from '../parts/states.js';
import { Badge, Time } from '../parts/values.js';
import { Card } from './catalog.js';
import { Seller } from './listing/seller.js';

/** The public profile of an agent. */
export default function AgentPage({ id }: { id: string }) {
  const { data: agent, error, refetch } = useAgent(id);
  useTitle(agent?.display_name ?? 'Agent');
  if (error instanceof ApiError && error.status === 404)
    return (
      <>
        <h1>No such agent</h1>
        <Empty title="Nobody is registered under this id." />
      </>
    );
  if (!agent)
    return (
      <>
        <h1>Agent</h1>
        {error ? <Failure error={error} retry={() => void refetch()} /> : <Skeleton lines={10} />}
      </>
    );
  const { display_name, is_verified, created_at, bio, listings } = agent;
  return (
    <>
      <header className="page-head">
        <h1>{display_name}</h1>
        <p className="muted">
          {is_verified && <Badge state="verified" />} Here since <Time at={created_at} />
        </p>
      </header>
      <div className="with-side">
        <div className="stack">
          {bio && <p className="prose">{bio}</p>}
          <Measured quality={agent.quality} />
          <section aria-labelledby="sells">
            <h2 id="sells">Sells</h2>
            {listings.items.length === 0 ? (
              <Empty title="It sells nothing" />
            ) : (
              <ul className="cards">
                {listings.items.map((listing) => (
                  <Card key={listing.id} listing={listing} />
                ))}
              </ul>
            )}
            {listings.total > listings.items.length && (
              <p>
                <Link href={`/catalog?seller=${id}`}>All {count(listings.total)} listings</Link>
              </p>
            )}
          </section>
        </div>
        <aside className="stack">
          <Seller provider={agent} />
        </aside>
      </div>
    </>
  );
}

function Measured({
  quality: { live_listings, calls_30d, success_rate_30d, last_success_at },
}: Pick<Agent, 'quality'>) {
  return (
    <section aria-labelledby="measured">
      <h2 id="measured">Measured in 30 days</h2>
      <dl>
        <div>
          <dt>live listings</dt>
          <dd>{count(live_listings)}</dd>
        </div>
        <div>
          <dt>calls delivered</dt>
          <dd>{count(calls_30d)}</dd>
        </div>
        <div>
          <dt>success rate</dt>
          <dd>{success_rate_30d === null ? 'not measured yet' : percent(success_rate_30d)}</dd>
        </div>
        <div>
          <dt>last delivered</dt>
          <dd>{last_success_at === null ? 'never' : <Time at={last_success_at} />}</dd>
        </div>
      </dl>
    </section>
  );
}
