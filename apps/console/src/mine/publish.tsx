import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Listing } from '@market/sdk';
import { apiOf } from '../api/client.js';
import { Failure } from '../parts/states.js';
import { useAgent } from './agent.js';
import { listingsKey } from './owner-queries.js';

/** Removes a listing from the catalog or publishes it; a suspended listing becomes a draft first. */
export function Publish({ listing: { id: listingId, status, name } }: { listing: Listing }) {
  const { agent_id: id } = useAgent();
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (next: 'draft' | 'active') =>
      apiOf(id).PATCH('/api/v1/listings/{listingId}', { params: { path: { listingId } }, body: { status: next } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: listingsKey(id) }),
  });
  const next = status === 'draft' ? 'active' : 'draft';
  const action = { draft: 'Publish', active: 'Withdraw', suspended: 'Make it a draft' }[status];
  return (
    <div>
      <button type="button" className="small" disabled={change.isPending} onClick={() => change.mutate(next)}>
        {action}
        <span className="visually-hidden"> {name}</span>
      </button>
      {change.isError && <Failure error={change.error} />}
    </div>
  );
}
