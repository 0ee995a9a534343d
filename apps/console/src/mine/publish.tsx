import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Listing } from '@market/sdk';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { apiOf, withKey } from '../api/client.js';
import { Confirm } from '../parts/modal.js';
import { Failure } from '../parts/states.js';
import { useAgent, useAgentLink } from './agent.js';
import { listingsKey } from './owner-queries.js';

/** Publishes a listing, withdraws it, or deletes a draft; a suspended listing becomes a draft first. */
export function Publish({ listing: { id: listingId, status, name, slug } }: { listing: Listing }) {
  const { agent_id: id } = useAgent();
  const queries = useQueryClient();
  const link = useAgentLink();
  const [, go] = useLocation();
  const [asked, setAsked] = useState<'withdraw' | 'delete'>();
  const refresh = () => queries.invalidateQueries({ queryKey: listingsKey(id) });
  const params = { path: { listingId } };
  const change = useMutation({
    mutationFn: (next: 'draft' | 'active') =>
      apiOf(id).PATCH('/api/v1/listings/{listingId}', { params, body: { status: next } }),
    onSuccess: () => {
      setAsked(undefined);
      return refresh();
    },
  });
  const remove = useMutation({
    mutationFn: () =>
      withKey(id, 'delete a draft', 'write', (client) => client.DELETE('/api/v1/listings/{listingId}', { params })),
    onSuccess: () => {
      go(link('/mine/listings'));
      return refresh();
    },
  });
  const close = (): void => setAsked(undefined);
  return (
    <div className="stack tight">
      <div className="row">
        {status === 'draft' && (
          <>
            <button
              type="button"
              className="primary"
              disabled={change.isPending}
              onClick={() => change.mutate('active')}
            >
              Publish
            </button>
            <button type="button" onClick={() => setAsked('delete')}>
              Delete draft
            </button>
          </>
        )}
        {status === 'active' && (
          <>
            <Link href={`/listings/${slug}`} className="button">
              View in catalog
            </Link>
            <button type="button" onClick={() => setAsked('withdraw')}>
              Withdraw
            </button>
          </>
        )}
        {status === 'suspended' && (
          <button type="button" disabled={change.isPending} onClick={() => change.mutate('draft')}>
            Make it a draft
          </button>
        )}
      </div>
      {change.isError && !asked && <Failure error={change.error} />}
      {asked === 'withdraw' && (
        <Confirm
          title={`Withdraw “${name}”?`}
          action="Withdraw it"
          isBusy={change.isPending}
          error={change.error}
          onConfirm={() => change.mutate('draft')}
          onClose={close}
        >
          <p>It leaves the catalog and becomes a draft. Nobody can buy it until you publish it again.</p>
          <p>
            Calls that your endpoint is answering now are completed and paid. Calls that are paid for and not yet
            delivered wait: they are delivered if you publish it again in time, and refunded to their buyers if not.
          </p>
        </Confirm>
      )}
      {asked === 'delete' && (
        <Confirm
          title={`Delete “${name}”?`}
          action="Delete it"
          isBusy={remove.isPending}
          error={remove.error}
          onConfirm={() => remove.mutate()}
          onClose={close}
        >
          <p>
            The draft and its endpoint are gone for good. Calls that are paid for and not yet delivered are refunded to
            their buyers. Your books and receipts stay.
          </p>
        </Confirm>
      )}
    </div>
  );
}
