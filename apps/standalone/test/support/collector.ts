import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as it was sent, with the name of the process that sent it. */
export interface CollectedSpan {
  process: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status: { code: number };
  attributes: Record<string, string>;
}

interface KeyValue {
  key: string;
  value: { stringValue?: string; intValue?: string };
}
interface ExportRequest {
  resourceSpans: {
    resource: { attributes: KeyValue[] };
    scopeSpans: { spans: (Omit<CollectedSpan, 'attributes' | 'process'> & { attributes: KeyValue[] })[] }[];
  }[];
}

const valuesOf = (attributes: KeyValue[]): Record<string, string> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, (value.stringValue ?? value.intValue)!]));

/** An OTLP/HTTP collector that records what it receives. It answers the first `refusals` requests with 503. */
export async function startCollector({ refusals = 0 } = {}) {
  const spans: CollectedSpan[] = [];
  const texts: string[] = [];
  const heads: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      if (request.method !== 'POST' || request.url !== '/v1/traces') return response.writeHead(404).end();
      if ((refusals -= 1) >= 0) return response.writeHead(503, { 'retry-after': '0' }).end();
      texts.push(text);
      heads.push(request.headers);
      for (const { resource, scopeSpans } of (JSON.parse(text) as ExportRequest).resourceSpans)
        for (const span of scopeSpans.flatMap((scope) => scope.spans))
          spans.push({
            ...span,
            process: valuesOf(resource.attributes)['service.name']!,
            attributes: valuesOf(span.attributes),
          });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    heads,
    /** Every request body as it was received. */
    text: (): string => texts.join('\n'),
    close: (): Promise<void> =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

export type Collector = Awaited<ReturnType<typeof startCollector>>;
