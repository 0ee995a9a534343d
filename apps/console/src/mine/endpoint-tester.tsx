import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Endpoint, EndpointTest, ListingDetail } from '@market/sdk';
import { useState } from 'react';
import { apiOf, bodyOf } from '../api/client.js';
import { milliseconds } from '../lib/format.js';
import { Code, Json } from '../parts/code.js';
import { Form, TextField } from '../parts/form.js';
import { useAgent } from './agent.js';
import { readJson } from './listing-fields.js';
import { endpointKey, listingsKey } from './owner-queries.js';

/** Sends a signed test call and shows what was sent and what came back. */
export function EndpointTester({ listing, endpoint }: { listing: ListingDetail; endpoint: Endpoint }) {
  const { agent_id: id } = useAgent();
  const queries = useQueryClient();
  const [text, setText] = useState(() => (listing.example_input ? JSON.stringify(listing.example_input, null, 2) : ''));
  const params = { path: { listingId: listing.id } };
  const test = useMutation({
    mutationFn: async () => {
      const body = readJson(text) as Record<string, unknown> | null;
      const request = { params, body: body === null ? {} : { body } };
      const { data } = await apiOf(id).POST('/api/v1/listings/{listingId}/endpoint/test', request).then(bodyOf);
      return { result: data, sent: body ?? listing.example_input };
    },
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: endpointKey(id, listing.id) }),
        queries.invalidateQueries({ queryKey: listingsKey(id) }),
      ]),
  });
  return (
    <section className="card">
      <h2>Test</h2>
      <Form error={test.error} onSubmit={() => test.mutate()}>
        <TextField
          name="body"
          label="Body"
          isOptional
          rows={4}
          value={text}
          onChange={setText}
          help="A test is signed like a call and costs nothing. Ten a minute are possible."
        />
        <div>
          <button type="submit" disabled={test.isPending}>
            {test.isPending ? 'Testing…' : 'Send test'}
          </button>
        </div>
      </Form>
      {test.data && <Tested {...test.data} agentId={id} endpoint={endpoint} />}
    </section>
  );
}

function Tested({
  result,
  sent,
  agentId,
  endpoint,
}: {
  result: EndpointTest;
  sent: object | null;
  agentId: string;
  endpoint: Endpoint;
}) {
  const { request_id, seller_status_code: status, latency_ms, checks, success, seller_response } = result;
  return (
    <div className="stack tight tested">
      <div role="status" className={success ? 'notice good' : 'notice'}>
        <p>
          {success ? 'The endpoint passed' : 'The endpoint did not pass'} in {milliseconds(latency_ms)}
          {status !== null && `, status ${status}`}.
        </p>
        <ul>
          {checks
            .filter(({ ok }) => !ok)
            .map(({ name, message }) => (
              <li key={name}>{message}</li>
            ))}
        </ul>
      </div>
      <h3>Request</h3>
      <Code
        text={requestText(request_id, sent ?? bodyWithoutExample(request_id, endpoint), agentId, endpoint)}
        label="The signed request"
      />
      <h3>Response</h3>
      {seller_response === null || seller_response === undefined ? (
        <p className="muted">No JSON came back.</p>
      ) : (
        <Json value={seller_response} label="The response" />
      )}
    </div>
  );
}

/** The request without what the marketplace keeps for itself: the path, credentials, time and signature. */
const requestText = (requestId: string, body: object, agentId: string, endpoint: Endpoint): string =>
  [
    'POST /…',
    `Host: ${endpoint.url_host}`,
    ...(endpoint.auth_header_name === null ? [] : [`${endpoint.auth_header_name}: …`]),
    'Content-Type: application/json',
    `X-Market-Request-Id: ${requestId}`,
    'X-Market-Event: endpoint.test',
    `X-Market-Listing-Id: ${endpoint.listing_id}`,
    `X-Market-Buyer-Id: ${agentId}`,
    'X-Market-Attempt: 1',
    `X-Market-Key-Id: ${endpoint.signature.key_id}`,
    `webhook-id: ${requestId}`,
    'webhook-timestamp: …',
    'webhook-signature: v1,… (over id.timestamp.body, by the signing secret)',
    '',
    JSON.stringify(body),
  ].join('\n');

/** What a test of a listing without an example sends. */
const bodyWithoutExample = (request_id: string, { listing_id }: Endpoint): object => ({
  event: 'endpoint.test',
  listing_id,
  request_id,
});
