import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { WebhookDelivery, WebhookDeliveryQuery } from '@market/sdk';
import { useState } from 'react';
import { Link } from 'wouter';
import { apiOf } from '../api/client.js';
import { milliseconds, words } from '../lib/format.js';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { Code } from '../parts/code.js';
import { Filter } from '../parts/filters.js';
import { CloseButton, Modal } from '../parts/modal.js';
import { Paged } from '../parts/paged.js';
import { Empty, Failure } from '../parts/states.js';
import { Table } from '../parts/table.js';
import { Badge, Time } from '../parts/values.js';
import { useAgent, useAgentLink } from './agent.js';
import { deliveriesKey, useDeliveries } from './owner-queries.js';

/** What was sent to a webhook, and what became of it. */
export function WebhookDeliveries({ id: webhookId }: { id: string }) {
  const { agent_id: id, display_name: name } = useAgent();
  useTitle(`Deliveries to a webhook of ${name}`);
  const link = useAgentLink();
  const queries = useQueryClient();
  const [get] = useFilters();
  const [shown, setShown] = useState<WebhookDelivery>();
  const deliveries = useDeliveries(id, webhookId, {
    ...(get('status') && { status: get('status') as WebhookDeliveryQuery['status'] }),
    page: Number(get('page') || 1),
    limit: 25,
  });
  const replay = useMutation({
    mutationFn: (deliveryId: string) =>
      apiOf(id).POST('/api/v1/webhook-deliveries/{deliveryId}/replay', { params: { path: { deliveryId } } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: deliveriesKey(id, webhookId) }),
  });
  return (
    <>
      <p>
        <Link href={link('/mine/webhooks')}>Webhooks</Link>
      </p>
      <h1>Deliveries</h1>
      <form className="filters" onSubmit={(event) => event.preventDefault()}>
        <Filter
          name="status"
          label="Status"
          options={{ pending: 'pending', delivered: 'delivered', failed: 'failed' }}
        />
      </form>
      {replay.isError && <Failure error={replay.error} />}
      <Paged
        query={deliveries}
        lines={6}
        of={['delivery', 'deliveries']}
        empty={<Empty title="Nothing here">Each event that is sent to this webhook is listed for 30 days.</Empty>}
      >
        {(items) => (
          <Table
            label="Deliveries"
            head={['Event', 'When', 'Status', 'Last answer', 'Next attempt', 'Actions']}
            rows={items.map((delivery) => {
              const { event, status, attempts, next_attempt_at: next } = delivery;
              const ofEvent = <span className="visually-hidden"> event {event.id}</span>;
              return [
                words(event.type),
                <Time at={event.at} />,
                <Badge state={status} />,
                outcomeOf(attempts.at(-1)),
                next === null ? '–' : <Time at={next} />,
                <>
                  <button type="button" className="small" onClick={() => setShown(delivery)}>
                    Show{ofEvent}
                  </button>{' '}
                  <button
                    type="button"
                    className="small"
                    disabled={replay.isPending}
                    onClick={() => replay.mutate(delivery.id)}
                  >
                    Send again{ofEvent}
                  </button>
                </>,
              ];
            })}
          />
        )}
      </Paged>
      {shown && <Detail delivery={shown} onClose={() => setShown(undefined)} />}
    </>
  );
}

const outcomeOf = (attempt: WebhookDelivery['attempts'][number] | undefined): string =>
  attempt === undefined
    ? 'not sent yet'
    : `${attempt.status_code ?? words(attempt.failure ?? '')} in ${milliseconds(attempt.latency_ms)}`;

const Detail = ({
  delivery: { event, message_id, attempts },
  onClose,
}: {
  delivery: WebhookDelivery;
  onClose: () => void;
}) => (
  <Modal title={`${words(event.type)}, event ${event.id}`} onClose={onClose}>
    <Code text={JSON.stringify(event, null, 2)} label="What is sent" />
    <p className="muted small">
      webhook-id <code>{message_id}</code>
    </p>
    <ol className="stack tight">
      {attempts.map((attempt) => (
        <li key={attempt.at}>
          <Time at={attempt.at} />: {outcomeOf(attempt)}
        </li>
      ))}
    </ol>
    <CloseButton onClose={onClose} />
  </Modal>
);
