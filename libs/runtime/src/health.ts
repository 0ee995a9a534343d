import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics, register } from 'prom-client';

export type ReadinessCheck = () => Promise<void>;

/** The message is shown to whoever asks whether the process is ready. Of other errors only the check is named. */
export class NotReady extends Error {
  override readonly name = 'NotReady';
}

/**
 * The internal port. `/healthz/live`: the process answers. `/healthz/ready`: its dependencies answer too; 503 while
 * starting and draining. `/metrics`: Prometheus' text format.
 */
export class HealthServer {
  private server: Server | undefined;
  ready = false;
  readonly checks: Record<string, ReadinessCheck> = {};

  async listen(host: string, port: number): Promise<number> {
    // Metrics of the process (processor time, memory, event loop delay, garbage collection), which must be registered
    // only once.
    if (!register.getSingleMetric('process_cpu_user_seconds_total')) collectDefaultMetrics();
    const server = createServer((request, response) => {
      const answer = (status: number, body: unknown): void => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      };
      if (request.url === '/healthz/live') return answer(200, { status: 'ok' });
      if (request.url === '/healthz/ready')
        return void this.report().then((report) => answer(report.status === 'ok' ? 200 : 503, report));
      if (request.url === '/metrics')
        return void register.metrics().then(
          (text) => response.writeHead(200, { 'content-type': register.contentType }).end(text),
          () => answer(500, { status: 'the metrics cannot be read' }),
        );
      answer(404, { status: 'unknown path' });
    });
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
    this.server = server;
    return (server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => (this.server ? this.server.close(() => resolve()) : resolve()));
  }

  private async report(): Promise<{ status: string; failing?: Record<string, string> }> {
    const results = await Promise.all(
      Object.entries(this.checks).map(([name, check]) =>
        check().then(
          () => [],
          (error: unknown) => [[name, error instanceof NotReady ? error.message : 'failed']],
        ),
      ),
    );
    const failing = Object.fromEntries(results.flat()) as Record<string, string>;
    if (!this.ready) return { status: 'not ready', ...(results.flat().length > 0 && { failing }) };
    return results.flat().length === 0 ? { status: 'ok' } : { status: 'failing', failing };
  }
}
