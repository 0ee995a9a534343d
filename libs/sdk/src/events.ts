import type { Clock } from './clock.js';
import { MarketplaceError } from './errors.js';
import type { Cancellable, HttpClient } from './http.js';
import { backoffSeconds } from './retry.js';
import type { AccountEvent } from './types.js';

export interface EventOptions extends Cancellable {
  /** The id of the last event that is known; those behind it come, and without it all that are kept. */
  after?: string;
}

/** The marketplace says something every few seconds. */
const SILENCE_MS = 30_000;

/** What concerns the account, as it happens; lost connections are opened again where they broke off. Ends with its signal alone. */
export async function* followEvents(
  { http, clock }: { http: HttpClient; clock: Clock },
  { after, signal }: EventOptions,
): AsyncGenerator<AccountEvent, void, undefined> {
  for (let failures = 0; ;) {
    try {
      for await (const event of eventsBehind(http, after, signal)) {
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

async function* eventsBehind(http: HttpClient, after: string | undefined, signal: AbortSignal | undefined) {
  const headers = { accept: 'text/event-stream', ...(after !== undefined && { 'last-event-id': after }) };
  for await (const line of http.lines('/events', { headers, signal, timeoutMs: SILENCE_MS }))
    if (line.startsWith('data:')) yield JSON.parse(line.slice('data:'.length)) as AccountEvent;
}
