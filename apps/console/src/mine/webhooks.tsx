import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { CreatedWebhook, CreateWebhook, Webhook, WebhookTest } from '@market/sdk';
import { useState, type ReactNode } from 'react';
import { Link } from 'wouter';
import { apiOf, bodyOf } from '../api/client.js';
import { milliseconds, words } from '../lib/format.js';
import { useTitle } from '../lib/use-title.js';
import { Form, TextField } from '../parts/form.js';
import { Confirm, Modal, SubmitOrCancel } from '../parts/modal.js';
import { ShownOnce } from '../parts/shown-once.js';
import { Empty, Failure, Loaded } from '../parts/states.js';
import { Facts } from '../parts/table.js';
import { Badge, Time } from '../parts/values.js';
import { useAgent, useAgentLink } from './agent.js';
import { useWebhooks, webhooksKey } from './owner-queries.js';

type EventType = NonNullable<CreateWebhook['event_types']>[number];

const TYPES: Record<EventType, string> = {
  'call.progress': 'a seller said how far a job is',
  'call.completed': 'a job was delivered',
  'call.failed': 'a job failed',
  sale: 'a call was sold',
  delivery_failed: 'a call failed',
  refund: 'money is owed back, or was paid back',
  fees_near_limit: 'fees are due',
  budget_near_limit: 'a budget is nearly spent',
  budget_exhausted: 'a budget is spent',
  review: 'a listing was reviewed',
  listing_suspended: 'a listing left the market',
  endpoint_failing: 'an endpoint does not work',
  endpoint_active: 'an endpoint works again',
  subscription_started: 'a subscription began',
  subscription_ended: 'a subscription ended',
  webhook_disabled: 'a webhook was disabled',
};

const WHY_DISABLED = {
  failing: 'Nothing arrived for three days. What happened since is sent when you enable it.',
  gone: 'It answered 410, which says that it is gone.',
};

/** Where the agent's events are sent. */
export function Webhooks() {
  const { agent_id: id, display_name: name } = useAgent();
  useTitle(`Webhooks of ${name}`);
  const webhooks = useWebhooks(id);
  const [isMaking, setIsMaking] = useState(false);
  return (
    <>
      <div className="row between">
        <h1>Webhooks</h1>
        <button type="button" className="primary" onClick={() => setIsMaking(true)}>
          Add a webhook
        </button>
      </div>
      <Loaded query={webhooks} lines={6}>
        {(data) =>
          data.length === 0 ? (
            <Empty title="No webhooks">
              <p>
                A webhook is an address of yours that is told of sales, failures and refunds as they happen.{' '}
                <a href="/docs/paying#webhooks">How it works</a>
              </p>
            </Empty>
          ) : (
            <ul className="plain stack tight">
              {data.map((webhook) => (
                <Row key={webhook.id} webhook={webhook} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {isMaking && <AddWebhook onClose={() => setIsMaking(false)} />}
    </>
  );
}

function Row({ webhook }: { webhook: Webhook }) {
  const { agent_id: id } = useAgent();
  const link = useAgentLink();
  const queries = useQueryClient();
  const [asked, setAsked] = useState<'rotate' | 'delete'>();
  const params = { path: { webhookId: webhook.id } };
  const refresh = () => queries.invalidateQueries({ queryKey: webhooksKey(id) });
  const test = useMutation({
    mutationFn: async () => (await apiOf(id).POST('/api/v1/webhooks/{webhookId}/test', { params }).then(bodyOf)).data,
  });
  const update = useMutation({
    mutationFn: (status: 'active' | 'paused') =>
      apiOf(id).PATCH('/api/v1/webhooks/{webhookId}', { params, body: { status } }),
    onSuccess: refresh,
  });
  const { url, description, status, event_types, last_success_at, last_failure_at, disabled_reason } = webhook;
  const action = (shown: string, act: () => void, isBusy = false): ReactNode => (
    <button type="button" className="small" disabled={isBusy} onClick={act}>
      {shown}
      <span className="visually-hidden"> {description ?? url}</span>
    </button>
  );
  const activate = status === 'paused' ? 'Resume' : 'Enable';
  return (
    <li className="card stack tight">
      <div className="row between">
        <h2>{description ?? new URL(url).host}</h2>
        <Badge state={status} />
      </div>
      {disabled_reason && <p>{WHY_DISABLED[disabled_reason]}</p>}
      <Facts
        className="facts"
        facts={{
          Address: <code>{url}</code>,
          Events: event_types ? event_types.map(words).join(', ') : 'all',
          'Last arrived': last_success_at ? <Time at={last_success_at} /> : 'never',
          'Last failed': last_failure_at ? <Time at={last_failure_at} /> : 'never',
        }}
      />
      <div className="row">
        <Link href={link(`/mine/webhooks/${webhook.id}`)} className="button small">
          Deliveries<span className="visually-hidden"> to {description ?? url}</span>
        </Link>
        {action('Send a test', () => test.mutate(), test.isPending)}
        {status === 'active'
          ? action('Pause', () => update.mutate('paused'), update.isPending)
          : action(activate, () => update.mutate('active'), update.isPending)}
        {action('Rotate secret', () => setAsked('rotate'))}
        {action('Delete', () => setAsked('delete'))}
      </div>
      {test.data && <TestResult result={test.data} />}
      {[test, update].map(({ error }, index) => error && <Failure key={index} error={error} />)}
      {asked === 'rotate' && <Rotate webhook={webhook} onClose={() => setAsked(undefined)} />}
      {asked === 'delete' && <Delete webhook={webhook} onClose={() => setAsked(undefined)} />}
    </li>
  );
}

const TestResult = ({ result: { success, status_code, failure, latency_ms } }: { result: WebhookTest }) => (
  <p role="status">
    {success ? 'The test arrived' : 'The test failed'}:{' '}
    {status_code === null ? words(failure ?? '') : `answered ${status_code}`} in {milliseconds(latency_ms)}.
  </p>
);

function AddWebhook({ onClose }: { onClose: () => void }) {
  const { agent_id: id } = useAgent();
  const queries = useQueryClient();
  const [url, setUrl] = useState('');
  const [description, setDescription] = useState('');
  const [types, setTypes] = useState<EventType[]>([]);
  const add = useMutation({
    mutationFn: async () => {
      const body = { url, description: description || null, event_types: types.length > 0 ? types : null };
      return (await apiOf(id).POST('/api/v1/webhooks', { body }).then(bodyOf)).data;
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: webhooksKey(id) }),
  });
  if (add.data) return <NewWebhook made={add.data} onClose={onClose} />;
  return (
    <Modal title="Add a webhook" onClose={onClose}>
      <Form error={add.error} onSubmit={() => add.mutate()}>
        <TextField name="url" label="Address, with https://" value={url} onChange={setUrl} />
        <TextField
          name="description"
          label="Name, by which you tell your webhooks apart"
          isOptional
          value={description}
          onChange={setDescription}
        />
        <fieldset>
          <legend>Events; all, if none is chosen</legend>
          {(Object.keys(TYPES) as EventType[]).map((type) => (
            <label key={type} className="check">
              <input
                type="checkbox"
                checked={types.includes(type)}
                onChange={({ target }) =>
                  setTypes(target.checked ? [...types, type] : types.filter((other) => other !== type))
                }
              />
              <span>
                {words(type)} <span className="muted">({TYPES[type]})</span>
              </span>
            </label>
          ))}
        </fieldset>
        <SubmitOrCancel action="Add it" isDisabled={add.isPending} onClose={onClose} />
      </Form>
    </Modal>
  );
}

const NewWebhook = ({ made, onClose }: { made: CreatedWebhook; onClose: () => void }) => (
  <ShownOnce title="The secret of the webhook" label="New secret" secret={made.secret} onClose={onClose}>
    . Any library of Standard Webhooks verifies with it what is sent to you.
  </ShownOnce>
);

function Rotate({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { agent_id: id } = useAgent();
  const params = { path: { webhookId: webhook.id } };
  const rotate = useMutation({
    mutationFn: async () =>
      (await apiOf(id).POST('/api/v1/webhooks/{webhookId}/rotate-secret', { params, body: {} }).then(bodyOf)).data,
  });
  if (rotate.data)
    return (
      <ShownOnce title="The new secret" label="New secret" secret={rotate.data.secret} onClose={onClose}>
        . The old one is good until <Time at={rotate.data.previous_secret_expires_at} />.
      </ShownOnce>
    );
  return (
    <Confirm
      title="Rotate the secret?"
      action="Rotate it"
      isBusy={rotate.isPending}
      error={rotate.error}
      onConfirm={() => rotate.mutate()}
      onClose={onClose}
    >
      <p>For 24 hours events are signed with both secrets, so that your server can change over without losing one.</p>
    </Confirm>
  );
}

function Delete({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { agent_id: id } = useAgent();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => apiOf(id).DELETE('/api/v1/webhooks/{webhookId}', { params: { path: { webhookId: webhook.id } } }),
    onSuccess: async () => {
      onClose();
      await queries.invalidateQueries({ queryKey: webhooksKey(id) });
    },
  });
  return (
    <Confirm
      title={`Delete “${webhook.description ?? webhook.url}”?`}
      action="Delete it"
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <p>Nothing more is sent to it, and its deliveries are no longer shown. It cannot be undone.</p>
    </Confirm>
  );
}
