/** One HTTP request and its answer as they went over the wire. */
export interface Exchange {
  method: string;
  path: string;
  requestHeaders: Headers;
  requestBody: string | undefined;
  status: number;
  statusText: string;
  responseHeaders: Headers;
  responseBody: string;
  milliseconds: number;
}

/** A `fetch` that remembers what it carried until it is asked. */
export class WireTap {
  #exchanges: Exchange[] = [];

  readonly fetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const requestBody = typeof init?.body === 'string' ? init.body : undefined;
    const started = performance.now();
    const response = await fetch(input, init);
    const responseBody = await response.clone().text();
    const url = new URL(request.url);
    this.#exchanges.push({
      method: request.method,
      path: url.pathname + url.search,
      requestHeaders: request.headers,
      requestBody,
      status: response.status,
      statusText: response.statusText,
      responseHeaders: response.headers,
      responseBody,
      milliseconds: Math.round(performance.now() - started),
    });
    return response;
  };

  /** Everything since the last time it was asked. */
  take(): Exchange[] {
    const taken = this.#exchanges;
    this.#exchanges = [];
    return taken;
  }
}
