import type { Clock } from './clock.js';
import { MarketplaceError } from './errors.js';
import { errorOf, EVENT_STREAM, type Cancellable, type HttpClient } from './http.js';
import { backoffSeconds } from './retry.js';
import type { AccountEvent } from './types.js';

export interface EventOptions extends Cancellable {
  /** The id of the last known event, after which events are returned. Without it all stored events are returned. */
  after?: string;
  /** For the session of a human: the claimed agent whose events are read. */
  agentId?: string;
}

/** Reads the events of the account as they happen, and resumes after lost connections. Only its signal ends it. */
export async function* followEvents(
  { http, clock }: { http: HttpClient; clock: Clock },
  { after, agentId, signal }: EventOptions,
): AsyncGenerator<AccountEvent, void, undefined> {
  for (let failures = 0; ;) {
    try {
      for await (const event of eventsBehind(http, after, agentId, signal)) {
        failures = 0;
        after = event.id;
        yield event;
      }
      await clock.sleep(1_000, signal);
    } catch (error) {
      if (signal?.aborted) return;
      if (!(error instanceof MarketplaceError) || !error.isTemporary) throw error;
      const seconds = error.retryAfterSeconds ?? backoffSeconds((failures += 1));
      await clock.sleep(seconds * 1_000, signal).catch(() => undefined);
      if (signal?.aborted) return;
    }
  }
}

async function* eventsBehind(
  http: HttpClient,
  after: string | undefined,
  agentId: string | undefined,
  signal: AbortSignal | undefined,
) {
  const headers = { accept: EVENT_STREAM, ...(after !== undefined && { 'last-event-id': after }) };
  const answer = await http.open('GET', '/events', { headers, query: { agent_id: agentId }, signal });
  if (!answer.events) throw errorOf(answer);
  for await (const { data } of answer.events) yield JSON.parse(data) as AccountEvent;
}
