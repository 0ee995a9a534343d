import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Endpoint, ListingDetail, RotatedSecret } from '@market/sdk';
import { useState } from 'react';
import { apiOf, bodyOf } from '../api/client.js';
import { count, milliseconds } from '../lib/format.js';
import { Confirm } from '../parts/modal.js';
import { ShownOnce } from '../parts/shown-once.js';
import { Failure, Loaded } from '../parts/states.js';
import { Badge, Time } from '../parts/values.js';
import { useAgent } from './agent.js';
import { EndpointSettings } from './endpoint-settings.js';
import { EndpointTester } from './endpoint-tester.js';
import { endpointKey, useEndpoint } from './owner-queries.js';

/** Shows the endpoint of a listing and its health, and lets its owner change it. */
export function EndpointPanel({ listing }: { listing: ListingDetail }) {
  const { agent_id: id } = useAgent();
  const endpoint = useEndpoint(id, listing.id);
  return (
    <Loaded query={endpoint} lines={2}>
      {(found) => (
        <div className="stack">
          <section className="card stack tight">
            <h2>Endpoint</h2>
            <Health endpoint={found} />
            <Actions listing={listing} endpoint={found} />
          </section>
          <EndpointTester listing={listing} endpoint={found} />
          <EndpointSettings endpoint={found} />
        </div>
      )}
    </Loaded>
  );
}

const Health = ({
  endpoint: { status, url_host, last_test, consecutive_failures, timeout_ms, limits },
}: {
  endpoint: Endpoint;
}) => (
  <dl className="facts">
    <div>
      <dt>Host</dt>
      <dd>
        {url_host} <Badge state={status} />
      </dd>
    </div>
    <div>
      <dt>Last test</dt>
      <dd>
        {last_test ? (
          <>
            {last_test.ok ? 'passed' : `failed (${last_test.status_code ?? 'no answer'})`} in{' '}
            {milliseconds(last_test.latency_ms)}, <Time at={last_test.at} />
          </>
        ) : (
          'never'
        )}
      </dd>
    </div>
    <div>
      <dt>Failures in a row</dt>
      <dd>{count(consecutive_failures)}</dd>
    </div>
    <div>
      <dt>Limits</dt>
      <dd>
        {milliseconds(timeout_ms)} a call, {count(limits.max_concurrency)} at once
      </dd>
    </div>
  </dl>
);

function Actions({ listing, endpoint }: { listing: ListingDetail; endpoint: Endpoint }) {
  const { agent_id: id } = useAgent();
  const queries = useQueryClient();
  const [isRotating, setIsRotating] = useState(false);
  const params = { path: { listingId: listing.id } };
  const refresh = () => queries.invalidateQueries({ queryKey: endpointKey(id, listing.id) });
  const pause = useMutation({
    mutationFn: (status: 'active' | 'paused') =>
      apiOf(id).PUT('/api/v1/listings/{listingId}/endpoint', { params, body: { status } }),
    onSuccess: refresh,
  });
  const isPaused = endpoint.status === 'paused';
  return (
    <>
      <div className="row">
        <button
          type="button"
          className="small"
          disabled={pause.isPending}
          onClick={() => pause.mutate(isPaused ? 'active' : 'paused')}
        >
          {isPaused ? 'Resume' : 'Pause'}
        </button>
        <button type="button" className="small" onClick={() => setIsRotating(true)}>
          Rotate signing secret
        </button>
      </div>
      {pause.isError && <Failure error={pause.error} />}
      <p className="muted small">
        {isPaused
          ? 'Paused: buyers get no offer. Calls that are paid for are delivered when you resume.'
          : 'A pause keeps the listing in the catalog and takes no calls meanwhile.'}
      </p>
      {isRotating && <Rotate listing={listing} onClose={() => setIsRotating(false)} />}
    </>
  );
}

function Rotate({ listing, onClose }: { listing: ListingDetail; onClose: () => void }) {
  const { agent_id: id } = useAgent();
  const queries = useQueryClient();
  const rotate = useMutation({
    mutationFn: async () =>
      (
        await apiOf(id)
          .POST('/api/v1/listings/{listingId}/endpoint/rotate-secret', {
            params: { path: { listingId: listing.id } },
            body: {},
          })
          .then(bodyOf)
      ).data,
    onSuccess: () => queries.invalidateQueries({ queryKey: endpointKey(id, listing.id) }),
  });
  if (rotate.data) return <NewSecret rotated={rotate.data} onClose={onClose} />;
  return (
    <Confirm
      title={`Rotate the signing secret of “${listing.name}”?`}
      action="Rotate it"
      isBusy={rotate.isPending}
      error={rotate.error}
      onConfirm={() => rotate.mutate()}
      onClose={onClose}
    >
      <p>
        For 24 hours calls are signed with both secrets, so that your endpoint can change over without losing one. Then
        the old secret ends.
      </p>
    </Confirm>
  );
}

const NewSecret = ({ rotated, onClose }: { rotated: RotatedSecret; onClose: () => void }) => (
  <ShownOnce title="The new secret" label="New secret" secret={rotated.gateway_signing_secret} onClose={onClose}>
    . The old one is good until <Time at={rotated.previous_secret_expires_at} />.
  </ShownOnce>
);
