import { useMutation } from '@tanstack/react-query';
import type { GatewayRequestDetail } from '@market/sdk';
import { useEffect, useState } from 'react';
import { withKey } from '../api/client.js';
import { readEvents, type ReadEvent } from '../lib/read-events.js';
import { count, words } from '../lib/format.js';
import { Confirm } from '../parts/modal.js';
import { Time } from '../parts/values.js';
import { useAgent } from './agent.js';

/** What the marketplace lets a browser show; the rest is only saved. */
const IMAGE = /^image\/(png|jpeg|gif|webp|avif)\b/i;
const AUDIO = /^audio\//i;
const STREAM = /^(text\/event-stream|application\/(x-ndjson|jsonl))\b/i;
/** The latest events are shown, so that a long stream slows nothing down. */
const MAX_SHOWN = 500;
const AGAIN_MS = 1_000;

/** What the buyer got, or how far it is. */
export function Answer({ call }: { call: GatewayRequestDetail }) {
  const { agent_id: id } = useAgent();
  const { request_id, kind, content_type: type, size, status, role, billable } = call;
  if (role !== 'buyer') return null;
  if (call.retry_after_seconds !== null) return <Job call={call} />;
  // What is under way may be a stream, which is known as one when it has ended.
  if (kind === 'stream' || (type !== null && STREAM.test(type)) || (status === 'forwarding' && kind !== 'job'))
    return <Stream requestId={request_id} />;
  if (type === null || billable !== true) return null;
  const url = `/api/v1/gateway-requests/${request_id}/content?agent_id=${id}`;
  return (
    <section className="card stack tight">
      <h2>The answer</h2>
      {IMAGE.test(type) && <img className="preview" src={url} alt="What the seller sent" />}
      {AUDIO.test(type) && <audio className="preview" src={url} controls aria-label="What the seller sent" />}
      <p>
        <a href={url} download>
          Save it
        </a>{' '}
        <span className="muted">
          {type}, {count(size ?? 0)} bytes
        </span>
      </p>
    </section>
  );
}

function Job({ call: { request_id: requestId, progress, deadline } }: { call: GatewayRequestDetail }) {
  const { agent_id: id } = useAgent();
  const [asks, setAsks] = useState(false);
  const cancel = useMutation({
    mutationFn: () =>
      withKey(id, 'cancel a job', 'subscribe', (client) =>
        client.DELETE('/api/v1/gateway-requests/{requestId}', { params: { path: { requestId } } }),
      ),
    onSuccess: () => setAsks(false),
  });
  const { percent, message } = progress ?? { percent: null, message: null };
  return (
    <section className="card stack tight">
      <h2>The seller works on it</h2>
      <progress value={percent ?? undefined} max={100} aria-label="How far the seller is" />
      <p role="status">
        {[percent !== null && `${percent} %`, message].filter(Boolean).join(', ') || 'It has not said how far it is.'}
      </p>
      <p className="muted">
        What is not delivered until <Time at={deadline!} /> is not charged.
      </p>
      {cancel.isSuccess ? (
        <p role="status">The seller was asked to stop.</p>
      ) : (
        <div className="row end">
          <button type="button" className="danger" onClick={() => setAsks(true)}>
            Cancel the job
          </button>
        </div>
      )}
      {asks && (
        <Confirm
          title="Ask the seller to stop?"
          action="Ask it"
          isBusy={cancel.isPending}
          error={cancel.error}
          onConfirm={() => cancel.mutate()}
          onClose={() => setAsks(false)}
        >
          <p>What was paid is owed back if the seller agrees. If it delivers first, the call is charged.</p>
        </Confirm>
      )}
    </section>
  );
}

interface Seen {
  events: ReadEvent[];
  total: number;
  /** Of its last event. */
  outcome?: string;
}

/** The events of a stream: while its seller sends them, and afterwards from what is stored. */
function Stream({ requestId }: { requestId: string }) {
  const { agent_id: id } = useAgent();
  const [seen, setSeen] = useState<Seen>();
  useEffect(() => {
    const left = new AbortController();
    void follow(`/api/v1/gateway-requests/${requestId}/content?agent_id=${id}`, setSeen, left.signal);
    return () => left.abort();
  }, [id, requestId]);
  if (!seen) return null;
  const { events, total, outcome } = seen;
  return (
    <section className="card stack tight">
      <h2>The stream</h2>
      <p role="status">
        {count(total)} {total === 1 ? 'event' : 'events'}, {outcome === undefined ? 'and it goes on' : words(outcome)}
        {total > events.length && `; the last ${count(events.length)}:`}
      </p>
      <div className="code">
        <pre tabIndex={0} role="log" aria-label="Its events">
          {events.map(({ name, data }, index) => (
            <div key={total - events.length + index}>{name === 'message' ? data : `${name}: ${data}`}</div>
          ))}
        </pre>
      </div>
    </section>
  );
}

/** Reads from the beginning, and again where the connection is lost before the end. A call without a stream shows none. */
async function follow(url: string, show: (seen: Seen) => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const response = await fetch(url, { headers: { accept: 'text/event-stream' }, signal });
      if (response.status === 404 || response.status === 410) return;
      const isStream = response.ok && response.headers.get('content-type')?.startsWith('text/event-stream');
      if (isStream && response.body && (await readAll(response.body, show))) return;
    } catch {
      // The connection was lost, or the page was left.
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** @returns whether it has come to the end. */
async function readAll(body: ReadableStream<Uint8Array<ArrayBuffer>>, show: (seen: Seen) => void): Promise<boolean> {
  let seen: Seen = { events: [], total: 0 };
  for await (const event of readEvents(body)) {
    if (event.name === 'market.open') continue;
    if (event.name === 'market.result') {
      show({ ...seen, outcome: (JSON.parse(event.data) as { outcome: string }).outcome });
      return true;
    }
    seen = { events: [...seen.events, event].slice(-MAX_SHOWN), total: seen.total + 1 };
    show(seen);
  }
  return false;
}
