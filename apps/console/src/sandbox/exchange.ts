import { ApiError, reach } from '../api/client.js';

/** One request and its answer, as they are shown step by step. */
export interface Exchange {
  method: string;
  path: string;
  sent: unknown;
  status: number;
  /** The answer's body. */
  shown: unknown;
  /** `data` of the answer's envelope. */
  data: unknown;
  milliseconds: number;
}

/** Sends a request of the interface as it is. @throws ApiError for an answer that is neither a success nor a 402. */
export async function exchange(
  method: string,
  path: string,
  { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<Exchange> {
  const started = performance.now();
  const request = new Request(`/api/v1${path}`, {
    method,
    body: body === undefined ? undefined : JSON.stringify(body),
    headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
    // The agent speaks for itself, by its key: whoever is signed in here has no part in it.
    credentials: 'omit',
  });
  const response = await reach(request);
  const milliseconds = performance.now() - started;
  if (!response.ok && response.status !== 402) throw await ApiError.of(response);
  const shown = (await response.json()) as { data?: unknown };
  return { method, path, sent: body, status: response.status, shown, data: shown.data, milliseconds };
}
