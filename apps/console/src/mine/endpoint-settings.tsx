import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Endpoint, UpdateEndpoint } from '@market/sdk';
import { useState } from 'react';
import { apiOf } from '../api/client.js';
import { Form, TextField } from '../parts/form.js';
import { useAgent } from './agent.js';
import { endpointKey, listingsKey } from './owner-queries.js';

/** Where calls are sent, with which credentials and within which limits. */
export function EndpointSettings({ endpoint }: { endpoint: Endpoint }) {
  const { agent_id: id } = useAgent();
  const queries = useQueryClient();
  const { listing_id: listingId, limits } = endpoint;
  const [draft, setDraft] = useState(() => ({
    private_endpoint_url: '',
    'auth_header.name': endpoint.auth_header_name ?? '',
    'auth_header.value': '',
    timeout_ms: String(endpoint.timeout_ms),
    'limits.max_concurrency': String(limits.max_concurrency),
    'limits.requests_per_minute': String(limits.requests_per_minute ?? ''),
    'limits.max_request_bytes': String(limits.max_request_bytes),
    'limits.max_response_bytes': String(limits.max_response_bytes),
  }));
  const field = (name: keyof typeof draft) => ({
    name,
    value: draft[name],
    onChange: (value: string) => {
      setDraft({ ...draft, [name]: value });
      save.reset();
    },
  });
  const number = (name: keyof typeof draft) => ({ ...field(name), type: 'number' as const });
  const save = useMutation({
    mutationFn: () =>
      apiOf(id).PUT('/api/v1/listings/{listingId}/endpoint', {
        params: { path: { listingId } },
        body: {
          ...(draft.private_endpoint_url !== '' && { private_endpoint_url: draft.private_endpoint_url }),
          ...authHeaderOf(draft, endpoint),
          timeout_ms: numberIn(draft.timeout_ms),
          limits: {
            max_concurrency: numberIn(draft['limits.max_concurrency']),
            requests_per_minute:
              draft['limits.requests_per_minute'] === '' ? null : numberIn(draft['limits.requests_per_minute']),
            max_request_bytes: numberIn(draft['limits.max_request_bytes']),
            max_response_bytes: numberIn(draft['limits.max_response_bytes']),
          },
        },
      }),
    onSuccess: () => {
      setDraft((saved) => ({ ...saved, private_endpoint_url: '', 'auth_header.value': '' }));
      return Promise.all([
        queries.invalidateQueries({ queryKey: endpointKey(id, listingId) }),
        queries.invalidateQueries({ queryKey: listingsKey(id) }),
      ]);
    },
  });
  return (
    <section className="card">
      <h2>Endpoint settings</h2>
      <Form error={save.error} onSubmit={() => save.mutate()}>
        <TextField
          {...field('private_endpoint_url')}
          label="New endpoint URL"
          isOptional
          type="url"
          placeholder={`https://${endpoint.url_host}/…`}
          help="Leave it empty to keep the present one, which is not shown."
        />
        <div className="two">
          <TextField
            {...field('auth_header.name')}
            label="Auth header"
            isOptional
            placeholder="Authorization"
            help="A header that every call carries. Empty removes it."
          />
          <TextField
            {...field('auth_header.value')}
            label="Value of the auth header"
            isOptional
            type="password"
            help={endpoint.has_auth_header ? 'Leave it empty to keep the present one.' : 'It is stored encrypted.'}
          />
          <TextField {...number('timeout_ms')} label="Timeout in milliseconds" help="Of a whole call." />
          <TextField {...number('limits.max_concurrency')} label="Calls at once" />
          <TextField
            {...number('limits.requests_per_minute')}
            label="Calls per minute"
            isOptional
            placeholder="no limit"
          />
          <TextField {...number('limits.max_request_bytes')} label="Largest body of a call, in bytes" />
          <TextField {...number('limits.max_response_bytes')} label="Largest answer, in bytes" />
        </div>
        <div className="row end">
          {save.isSuccess && <span role="status">Saved</span>}
          <button type="submit" className="primary" disabled={save.isPending}>
            Save settings
          </button>
        </div>
      </Form>
    </section>
  );
}

/** An empty text is sent as it is, so that the marketplace names it together with every other problem. */
const numberIn = (text: string): number => (text === '' ? '' : Number(text)) as number;

/** Left out while it stays as it is, since its value is not known here. */
function authHeaderOf(
  draft: Record<'auth_header.name' | 'auth_header.value', string>,
  { auth_header_name: present }: Endpoint,
): Pick<UpdateEndpoint, 'auth_header'> {
  const { 'auth_header.name': name, 'auth_header.value': value } = draft;
  if (name === (present ?? '') && value === '') return {};
  return { auth_header: name === '' && value === '' ? null : { name, value } };
}
