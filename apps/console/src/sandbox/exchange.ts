import { ApiError, reach } from '../api/client.js';

/** One request and its answer, as they are displayed. */
export interface Exchange {
  method: string;
  path: string;
  sent: unknown;
  status: number;
  /** The body of the answer. */
  shown: unknown;
  /** `data` of the answer's envelope. */
  data: unknown;
  milliseconds: number;
}

/** Sends a request. @throws ApiError if the answer is neither a success nor a 402. */
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
    // The agent authenticates with its key, so the session of this browser must not be sent.
    credentials: 'omit',
  });
  const response = await reach(request);
  const milliseconds = performance.now() - started;
  if (!response.ok && response.status !== 402) throw await ApiError.of(response);
  const shown = (await response.json()) as { data?: unknown };
  return { method, path, sent: body, status: response.status, shown, data: shown.data, milliseconds };
}
