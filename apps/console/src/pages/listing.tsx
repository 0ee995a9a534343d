import { useState } from 'react';
import type { ListingDetail } from '@market/sdk';
import { useIsSandbox, useListing } from '../api/public-queries.js';
import { words } from '../lib/format.js';
import { useTitle } from '../lib/use-title.js';
import { Code, Json } from '../parts/code.js';
import { Empty, Failure, Skeleton } from '../parts/states.js';
import { Badge, Price } from '../parts/values.js';
import { ApiError } from '../api/client.js';
import { BodyForm } from './listing/body-form.js';
import { Quality } from './listing/quality.js';
import { Reviews } from './listing/reviews.js';
import { Seller } from './listing/seller.js';
import { Snippets } from './listing/snippets.js';
import { makePaidCall, notBegun, type PaidCall } from '../sandbox/paid-call.js';
import { PaidCallSteps } from '../sandbox/paid-call-steps.js';

export default function ListingPage({ slug }: { slug: string }) {
  const { data: listing, error, refetch } = useListing(slug);
  useTitle(listing?.name ?? 'Listing');
  if (error instanceof ApiError && error.status === 404)
    return (
      <>
        <h1>No such listing</h1>
        <Empty title="Nobody offers this, or its seller has withdrawn it." />
      </>
    );
  if (!listing)
    return (
      <>
        <h1>Listing</h1>
        {error ? <Failure error={error} retry={() => void refetch()} /> : <Skeleton lines={10} />}
      </>
    );
  return (
    <>
      <header className="row between page-head">
        <div>
          <h1>{listing.name}</h1>
          <p className="muted">
            {listing.category?.name ?? 'No category'} · {words(listing.delivery_type)}
            {listing.tags.map((tag) => (
              <span key={tag} className="tag">
                {tag}
              </span>
            ))}
          </p>
        </div>
        <p className="price">
          <Price listing={listing} />
          {listing.included_calls !== null && <span className="muted"> {listing.included_calls} calls included</span>}
          {listing.included_units && (
            <span className="muted">
              {' '}
              {listing.included_units.units} included, counted by {listing.included_units.unit}
            </span>
          )}
          {listing.free_calls !== null && <span className="muted"> {listing.free_calls} free to try</span>}
          {listing.quality?.live ? (
            <span className="badge good">works now</span>
          ) : (
            listing.endpoint_status && <Badge state={listing.endpoint_status} />
          )}
        </p>
      </header>
      <div className="with-side">
        <div className="stack">
          <p className="prose">{listing.description}</p>
          {listing.pricing_model === 'per_call' && <Call listing={listing} />}
          {listing.gateway_url !== undefined && <Quality listing={listing} />}
          <TakesAndGives listing={listing} />
          <Told title="Documentation" text={listing.docs} />
          <Told title="Service level" text={listing.sla} />
          <Told title="Risks" text={listing.risk_disclaimers} />
          <Reviews listing={listing} />
        </div>
        <aside className="stack">
          <Costs listing={listing} />
          <Seller provider={listing.provider} />
        </aside>
      </div>
    </>
  );
}

/** The call as a form and as code, and in the sandbox the call itself. */
function Call({ listing }: { listing: ListingDetail }) {
  const isSandbox = useIsSandbox();
  const [body, setBody] = useState<unknown>(listing.example_input ?? {});
  const [call, setCall] = useState<PaidCall>();
  const isRunning = call !== undefined && Object.values(call.steps).some(({ state }) => state === 'running');
  const isValid = body !== undefined;
  return (
    <section className="card stack tight" aria-labelledby="call">
      <h2 id="call">Call it</h2>
      <BodyForm schema={listing.input_schema} body={body} onChange={setBody} />
      {isSandbox && (
        <>
          <div>
            <button
              type="button"
              className="primary"
              disabled={isRunning || !isValid}
              onClick={() => {
                setCall(notBegun());
                void makePaidCall(listing.slug, body, setCall);
              }}
            >
              {isRunning ? 'Calling…' : 'Call with play money'}
            </button>
          </div>
          {call && <PaidCallSteps call={call} />}
        </>
      )}
      <Snippets listing={listing} body={body} />
    </section>
  );
}

const Costs = ({ listing }: { listing: ListingDetail }) => (
  <section className="card" aria-labelledby="costs">
    <h2 id="costs">What it costs</h2>
    <p className="big">
      <Price listing={listing} />
    </p>
    {listing.pricing_model === 'per_call' && (
      <p className="muted small">
        The fee of the marketplace is in it. A call that is not delivered costs nothing, and repeating one that was
        costs nothing more.
      </p>
    )}
  </section>
);

function TakesAndGives({ listing }: { listing: ListingDetail }) {
  const { input_schema, output_schema, example_outputs, gateway_limits } = listing;
  if (!input_schema && !output_schema && example_outputs.length === 0) return null;
  return (
    <section aria-labelledby="schemas">
      <h2 id="schemas">What to send, what comes back</h2>
      {gateway_limits && (
        <p className="muted">
          Up to {gateway_limits.max_request_bytes.toLocaleString()} bytes a request, {gateway_limits.max_concurrency}{' '}
          calls at once.
        </p>
      )}
      {input_schema && <Folded title="What to send (JSON Schema)" value={input_schema} />}
      {output_schema && <Folded title="What comes back (JSON Schema)" value={output_schema} />}
      {example_outputs.map(({ label, content }, index) => (
        <details key={index}>
          <summary>Example: {label}</summary>
          <Code text={content} label={`Example ${index + 1}`} />
        </details>
      ))}
    </section>
  );
}

const Folded = ({ title, value }: { title: string; value: unknown }) => (
  <details>
    <summary>{title}</summary>
    <Json value={value} label={title} />
  </details>
);

const Told = ({ title, text }: { title: string; text: string | null }) =>
  text && (
    <section>
      <h2>{title}</h2>
      <p className="prose">{text}</p>
    </section>
  );
