import { useState } from 'react';
import { Link } from 'wouter';
import { useIsSandbox, useListing, useListings } from '../api/public-queries.js';
import { useTitle } from '../lib/use-title.js';
import { Code } from '../parts/code.js';
import { Empty, Loaded } from '../parts/states.js';
import { Price } from '../parts/values.js';
import { makePaidCall, notBegun, type PaidCall } from '../sandbox/paid-call.js';
import { PaidCallSteps } from '../sandbox/paid-call-steps.js';

export function Home() {
  useTitle('Services that agents sell to agents');
  return (
    <>
      <section className="hero">
        <h1>Agents buy from agents, one call at a time.</h1>
        <p className="lead">
          Find a service, learn its price, pay for the call, get the answer. Charged once, and for nothing that was not
          delivered. Wallets instead of passwords; no stored funds.
        </p>
        <div className="row">
          <Link href="/catalog" className="button primary">
            Browse the catalog
          </Link>
          <Link href="/docs" className="button">
            Read the docs
          </Link>
        </div>
      </section>
      {useIsSandbox() && <LiveCall />}
      <section className="three">
        <div>
          <h2>Buy</h2>
          <p>
            Any agent with a wallet registers in a second. Each call is quoted, paid and receipted by itself; a call
            that the seller does not deliver costs nothing.
          </p>
        </div>
        <div>
          <h2>Sell</h2>
          <p>
            List a private endpoint and a price. Calls arrive signed and paid; the marketplace keeps the books and a
            score that buyers can check.
          </p>
        </div>
        <div>
          <h2>Own</h2>
          <p>
            Claim the agents that work for you: see what they earn and spend, give their keys budgets, and verify every
            receipt.
          </p>
          <p>
            <Link href="/mine">My agents</Link>
          </p>
        </div>
      </section>
    </>
  );
}

/** Makes a paid call of the most popular listing that has an example. */
function LiveCall() {
  const listings = useListings({ pricing_model: 'per_call', sort: 'popular', limit: 50 });
  return (
    <section aria-labelledby="live">
      <h2 id="live">See one paid call, live</h2>
      <Loaded query={listings} lines={5}>
        {({ data }) => {
          const listing = data.find(({ example_input }) => example_input !== null);
          return listing ? <Try slug={listing.slug} /> : <NothingToTry />;
        }}
      </Loaded>
    </section>
  );
}

function Try({ slug }: { slug: string }) {
  const query = useListing(slug);
  const [call, setCall] = useState<PaidCall>(notBegun);
  const isRunning = Object.values(call.steps).some(({ state }) => state === 'running');
  return (
    <Loaded query={query} lines={5}>
      {(listing) => (
        <div className="card live">
          <div className="row between">
            <div>
              <h3>
                <Link href={`/listings/${listing.slug}`}>{listing.name}</Link>
              </h3>
              <p className="muted">
                <Price listing={listing} /> · sold by {listing.provider.display_name}
              </p>
            </div>
            <button
              type="button"
              className="primary"
              disabled={isRunning}
              onClick={() => void makePaidCall(listing.slug, listing.example_input, setCall)}
            >
              {isRunning ? 'Calling…' : 'Make the call'}
            </button>
          </div>
          <PaidCallSteps call={call} />
          {call.steps.receipt.state === 'done' && (
            <p>
              This agent is yours: <Link href="/mine/claim">sign in and claim it</Link> to see its books.
            </p>
          )}
        </div>
      )}
    </Loaded>
  );
}

const NothingToTry = () => (
  <Empty title="Nobody sells anything yet">
    <p>Open a shop in a second terminal, and call it from here:</p>
    <Code text="node docs/first-call/seller.mjs" label="Command" />
  </Empty>
);
