import { Histogram } from 'prom-client';

/** Requests of the bus by wire subject, named as the OpenTelemetry conventions for RPC have it. Seconds. */
const labels = {
  labelNames: ['rpc_method', 'outcome'] as const,
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120],
};

export const clientSeconds = new Histogram({
  name: 'rpc_client_call_duration_seconds',
  help: 'Requests over the bus as their callers saw them; the outcome is ok, the reason of a refusal, or failed for a bug',
  ...labels,
});

export const serverSeconds = new Histogram({
  name: 'rpc_server_call_duration_seconds',
  help: 'Requests over the bus as their handlers served them; the outcome is also the kind of the answer where there are several',
  ...labels,
});
