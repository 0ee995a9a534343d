import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

/** The minimum interval between refreshes, however many events arrive. */
const GATHER_MS = 500;
const RETRY_MS = 1_000;
/** The interval of refreshes if no stream can be opened. */
const POLL_MS = 15_000;

/** Refreshes an agent's data when GET /events reports an event. */
export function useLive(agentId: string): void {
  const queries = useQueryClient();
  useEffect(() => {
    const stop = new AbortController();
    let isDue = false;
    const refresh = async (): Promise<void> => {
      if (isDue) return;
      isDue = true;
      await delay(GATHER_MS);
      isDue = false;
      if (!stop.signal.aborted) await queries.invalidateQueries({ queryKey: ['agent', agentId] });
    };
    void follow(agentId, () => void refresh(), stop.signal);
    return () => stop.abort();
  }, [agentId, queries]);
}

async function follow(agentId: string, refresh: () => void, signal: AbortSignal): Promise<void> {
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    try {
      const response = await fetch(`/api/v1/events?agent_id=${agentId}&cursor=now`, {
        headers: { accept: 'text/event-stream' },
        signal,
      });
      if (!response.ok || !response.body) {
        await delay(POLL_MS);
        refresh();
        continue;
      }
      // Loads what happened while there was no connection.
      if (!isFirst) refresh();
      const text = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await text.read(); !part.done; part = await text.read())
        if (/^data:/m.test(part.value)) refresh();
    } catch {
      // The connection was lost, or the page was left.
    }
    await delay(RETRY_MS);
  }
}

const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
