import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { CreatedListing } from '@market/sdk';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { bodyOf, withKey } from '../api/client.js';
import { useTitle } from '../lib/use-title.js';
import { Form } from '../parts/form.js';
import { ShownOnce } from '../parts/shown-once.js';
import { work } from '../sandbox/proof-of-work.js';
import { useAgent, useAgentLink } from './agent.js';
import { bodyOfDraft, draftOf, ListingFields } from './listing-fields.js';
import { listingsKey } from './owner-queries.js';

/** Creates a listing: a proof of work against spam, and the request. */
export function NewListing() {
  const { agent_id: id } = useAgent();
  useTitle('New listing');
  const link = useAgentLink();
  const [, go] = useLocation();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(draftOf);
  const [created, setCreated] = useState<CreatedListing>();
  const open = (listing: CreatedListing): void => go(link(`/mine/listings/${listing.id}`));
  const create = useMutation({
    mutationFn: (status: 'draft' | 'active') =>
      withKey(id, 'create a listing', 'write', async (client) => {
        const { data: puzzle } = await client.POST('/api/v1/listings/challenge').then(bodyOf);
        const proof = { challenge: puzzle.challenge, pow_nonce: await work(puzzle) };
        const body = { ...bodyOfDraft(draft, false), status, ...proof };
        return (await client.POST('/api/v1/listings', { body }).then(bodyOf)).data;
      }),
    onSuccess: (listing) => {
      void queries.invalidateQueries({ queryKey: listingsKey(id) });
      if (listing.gateway_signing_secret === undefined) open(listing);
      else setCreated(listing);
    },
  });
  return (
    <>
      <p className="small">
        <Link href={link('/mine/listings')}>Listings</Link>
      </p>
      <h1>New listing</h1>
      <div className="form-page">
        <Form error={create.error} onSubmit={(status) => create.mutate(status as 'draft' | 'active')}>
          <ListingFields draft={draft} onChange={setDraft} hasEndpoint={false} />
          <p className="muted small">
            A draft is seen by you alone, so that you can test its endpoint before you publish it.
          </p>
          <div className="row end">
            <button type="submit" value="draft" className="primary" disabled={create.isPending}>
              {create.isPending ? 'Saving…' : 'Save as draft'}
            </button>
            <button type="submit" value="active" disabled={create.isPending}>
              Publish now
            </button>
          </div>
        </Form>
      </div>
      {created && <SigningSecret secret={created.gateway_signing_secret!} onClose={() => open(created)} />}
    </>
  );
}

/** The secret by which the seller knows the marketplace's calls. */
export const SigningSecret = ({ secret, onClose }: { secret: string; onClose: () => void }) => (
  <ShownOnce title="The signing secret" label="Signing secret" secret={secret} onClose={onClose}>
    . Your endpoint checks with it that a call comes from the marketplace.
  </ShownOnce>
);
