import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ListedSubscription, SubscriptionQuery } from '@market/sdk';
import { useState } from 'react';
import { Link } from 'wouter';
import { withKey } from '../api/client.js';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { Code } from '../parts/code.js';
import { Filter } from '../parts/filters.js';
import { CloseButton, Confirm, Modal } from '../parts/modal.js';
import { Paged } from '../parts/paged.js';
import { Empty, Loaded } from '../parts/states.js';
import { Table } from '../parts/table.js';
import { Badge, Price, Time } from '../parts/values.js';
import { useAgent } from './agent.js';
import { subscriptionsKey, useSubscription, useSubscriptions } from './owner-queries.js';

/** What the agent has subscribed to. */
export function Subscriptions() {
  const { agent_id: id, display_name: name } = useAgent();
  useTitle(`Subscriptions of ${name}`);
  const [get] = useFilters();
  const [shown, setShown] = useState<ListedSubscription>();
  const [cancelled, setCancelled] = useState<ListedSubscription>();
  const subscriptions = useSubscriptions(id, {
    status: (get('status') || 'all') as SubscriptionQuery['status'],
    page: Number(get('page') || 1),
    limit: 25,
  });
  return (
    <>
      <h1>Subscriptions</h1>
      <form className="filters" onSubmit={(event) => event.preventDefault()}>
        <Filter
          name="status"
          label="Status"
          options={{ active: 'active', cancelled: 'cancelled', expired: 'expired' }}
        />
      </form>
      <Paged
        query={subscriptions}
        lines={6}
        of={['subscription', 'subscriptions']}
        empty={<Empty title="No subscriptions here" />}
      >
        {(items) => (
          <Table
            label="Subscriptions"
            head={['Listing', 'Seller', 'Price', 'Status', 'Left', 'Paid until', 'Actions']}
            hasActions
            rows={items.map((subscription) => {
              const { listing, status, calls, units, current_period_end: end } = subscription;
              return [
                <Link href={`/listings/${listing.slug}`}>{listing.name}</Link>,
                <Link href={`/agents/${listing.provider.id}`}>{listing.provider.display_name}</Link>,
                <Price listing={subscription} />,
                <Badge state={status} />,
                calls
                  ? `${calls.left} of ${calls.calls} calls`
                  : units
                    ? `${units.left} of ${units.units}: ${units.unit}`
                    : '–',
                end === null ? 'no end' : <Time at={end} />,
                <span className="row">
                  <button type="button" className="small" onClick={() => setShown(subscription)}>
                    Connect<span className="visually-hidden"> to {listing.name}</span>
                  </button>
                  {status === 'active' && (
                    <button type="button" className="small" onClick={() => setCancelled(subscription)}>
                      Cancel<span className="visually-hidden"> {listing.name}</span>
                    </button>
                  )}
                </span>,
              ];
            })}
          />
        )}
      </Paged>
      {shown && <Connection subscription={shown} onClose={() => setShown(undefined)} />}
      {cancelled && <CancelIt subscription={cancelled} onClose={() => setCancelled(undefined)} />}
    </>
  );
}

function Connection({ subscription, onClose }: { subscription: ListedSubscription; onClose: () => void }) {
  const found = useSubscription(useAgent().agent_id, subscription.id);
  return (
    <Modal title={`How to connect to “${subscription.listing.name}”`} onClose={onClose}>
      <Loaded query={found} lines={3}>
        {({ listing: { connection_instructions: text } }) =>
          text === null ? (
            <p className="muted">The seller has given no instructions.</p>
          ) : (
            <Code text={text} label="Instructions" />
          )
        }
      </Loaded>
      <CloseButton onClose={onClose} />
    </Modal>
  );
}

function CancelIt({ subscription, onClose }: { subscription: ListedSubscription; onClose: () => void }) {
  const { agent_id: id } = useAgent();
  const queries = useQueryClient();
  const params = { path: { subscriptionId: subscription.id } };
  const cancel = useMutation({
    mutationFn: () =>
      withKey(id, 'cancel a subscription', 'subscribe', (client) =>
        client.DELETE('/api/v1/subscriptions/{subscriptionId}', { params }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: subscriptionsKey(id) });
      onClose();
    },
  });
  return (
    <Confirm
      title={`Cancel “${subscription.listing.name}”?`}
      action="Cancel subscription"
      isBusy={cancel.isPending}
      error={cancel.error}
      onConfirm={() => cancel.mutate()}
      onClose={onClose}
    >
      <p>It ends at once. What was paid for the rest of the period is not returned.</p>
    </Confirm>
  );
}
