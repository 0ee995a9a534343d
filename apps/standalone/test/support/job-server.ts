import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

/** A request that the seller has taken as a job. */
export interface TakenJob {
  requestId: string;
  /** Where it is delivered. */
  url: string;
  event: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface JobServer {
  url: string;
  /** Every request, in order. */
  taken: TakenJob[];
  /** The signing secret of the listing. */
  secret: string;
  /** Delivers with a stock library for Standard Webhooks. */
  deliver(job: TakenJob, kind: string, body: string, changes?: DeliveryChanges): Promise<Response>;
  close(): Promise<void>;
}

interface DeliveryChanges {
  id?: string;
  url?: string;
  headers?: Record<string, string>;
}

/** A seller that takes each call as a job. @param onTaken runs when the marketplace has its answer. */
export async function jobServer(
  onTaken: (job: TakenJob, server: JobServer) => void = () => undefined,
): Promise<JobServer> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { headers } = request;
      const header = (name: string): string => String(headers[name] ?? '');
      const job = {
        requestId: header('x-market-request-id'),
        url: header('x-market-job-url'),
        event: header('x-market-event'),
        headers,
        body: Buffer.concat(chunks).toString(),
      };
      jobs.taken.push(job);
      response.writeHead(202, { 'x-market-job': 'accepted' }).end(() => onTaken(job, jobs));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const jobs: JobServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/call`,
    taken: [],
    secret: '',
    deliver: ({ requestId, url }, kind, body, changes = {}) => {
      const id = changes.id ?? `${requestId}-${kind}-${randomBytes(4).toString('hex')}`;
      const now = new Date();
      return fetch(`${changes.url ?? url}/${kind}`, {
        method: 'POST',
        body,
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
          'webhook-signature': new Webhook(jobs.secret).sign(id, now, body),
          ...changes.headers,
        },
      });
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return jobs;
}
