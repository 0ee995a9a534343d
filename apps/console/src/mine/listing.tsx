import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ListingDetail } from '@market/sdk';
import { useState } from 'react';
import { Link } from 'wouter';
import { apiOf, bodyOf } from '../api/client.js';
import { useTitle } from '../lib/use-title.js';
import { Form } from '../parts/form.js';
import { Loaded } from '../parts/states.js';
import { Badge, Price } from '../parts/values.js';
import { useAgent, useAgentLink } from './agent.js';
import { EndpointPanel } from './endpoint-panel.js';
import { bodyOfDraft, draftOf, ListingFields, type ListingDraft } from './listing-fields.js';
import { SigningSecret } from './new-listing.js';
import { listingsKey, useOwnListing, useValidation } from './owner-queries.js';
import { Publish } from './publish.js';
import { unpayable } from './wallets.js';

/** Everything that the owner of a listing does with it. */
export function ListingPage({ id: listingId }: { id: string }) {
  const { agent_id: id } = useAgent();
  const listing = useOwnListing(id, listingId);
  const link = useAgentLink();
  return (
    <>
      <p className="small">
        <Link href={link('/mine/listings')}>Listings</Link>
      </p>
      <Loaded query={listing} lines={10}>
        {(found) => <Opened listing={found} />}
      </Loaded>
    </>
  );
}

function Opened({ listing }: { listing: ListingDetail }) {
  useTitle(listing.name);
  return (
    <div className="stack form-page">
      <div className="row between">
        <h1>{listing.name}</h1>
        <span className="row">
          <Price listing={listing} />
          <Badge state={listing.status} />
        </span>
      </div>
      <Wanting listing={listing} />
      <Publish listing={listing} />
      {listing.gateway_url !== undefined && <EndpointPanel listing={listing} />}
      <Edit listing={listing} />
    </div>
  );
}

const UNSAID = ['state', 'endpoint', 'quality', 'search'];

/** What keeps buyers from finding or paying it, and where that is mended. */
function Wanting({ listing }: { listing: ListingDetail }) {
  const link = useAgentLink();
  const { data: checks = [] } = useValidation(useAgent().agent_id, listing.id);
  const shown = checks.filter(({ name }) => !UNSAID.includes(name));
  if (shown.length === 0) return null;
  return (
    <section className="notice" aria-label="What this listing lacks">
      <ul>
        {shown.map((check) => (
          <li key={check.name}>
            {unpayable(check) ? (
              <>
                {unpayable(check)} <Link href={link('/mine/wallets')}>Wallets</Link>
              </>
            ) : (
              check.message
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Edit({ listing }: { listing: ListingDetail }) {
  const { agent_id: id } = useAgent();
  const queries = useQueryClient();
  const hasEndpoint = listing.gateway_url !== undefined;
  const [draft, setDraft] = useState(() => draftOf(listing));
  /** A listing that becomes per_call answers with its signing secret. */
  const [secret, setSecret] = useState<string>();
  const save = useMutation({
    mutationFn: async () =>
      (
        await apiOf(id)
          .PATCH('/api/v1/listings/{listingId}', {
            params: { path: { listingId: listing.id } },
            body: bodyOfDraft(draft, hasEndpoint),
          })
          .then(bodyOf)
      ).data,
    onSuccess: ({ gateway_signing_secret }) => {
      setSecret(gateway_signing_secret);
      setDraft((saved) => ({ ...saved, private_endpoint_url: '' }));
      return queries.invalidateQueries({ queryKey: listingsKey(id) });
    },
  });
  const change = (changed: ListingDraft): void => {
    setDraft(changed);
    save.reset();
  };
  return (
    <>
      <Form error={save.error} onSubmit={() => save.mutate()}>
        <ListingFields draft={draft} onChange={change} hasEndpoint={hasEndpoint} />
        <div className="row end">
          {save.isSuccess && <span role="status">Saved</span>}
          <button type="submit" className="primary" disabled={save.isPending}>
            Save changes
          </button>
        </div>
      </Form>
      {secret !== undefined && <SigningSecret secret={secret} onClose={() => setSecret(undefined)} />}
    </>
  );
}
