import type { NatsConnection } from '@nats-io/transport-node';
import { setTimeout as delay } from 'node:timers/promises';
import { Counter, Gauge, Histogram } from 'prom-client';

/** Requests of the bus by wire subject, in seconds. The names follow the OpenTelemetry conventions for RPC. */
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

/** The connections of this process that send requests, by service. */
export const natsConnections = new Map<string, Pick<NatsConnection, 'rtt'>>();

const NATS_ANSWERS_WITHIN_MS = 1_000;

new Gauge({
  name: 'nats_client_round_trip_seconds',
  help: 'The time NATS takes to answer a ping of a service; NaN where it does not within a second',
  labelNames: ['service'] as const,
  async collect() {
    this.reset();
    await Promise.all(
      [...natsConnections].map(async ([service, connection]) => {
        const late = delay(NATS_ANSWERS_WITHIN_MS, Number.NaN, { ref: false });
        const ms = await Promise.race([connection.rtt(), late]).catch(() => Number.NaN);
        this.set({ service }, ms / 1_000);
      }),
    );
  },
});

export const natsConnected = new Gauge({
  name: 'nats_client_connected',
  help: 'Whether a service has a connection to NATS',
  labelNames: ['service'] as const,
});

export const streamBytes = new Gauge({
  name: 'market_event_stream_bytes',
  help: 'Bytes of events that some service has not handled yet, as the payments-ledger saw them within a quarter of a minute',
});

export const streamMaxBytes = new Gauge({
  name: 'market_event_stream_max_bytes',
  help: 'The bound of market_event_stream_bytes; beyond, events wait in the outboxes',
});

export const consumerPending = new Gauge({
  name: 'market_event_consumer_pending',
  help: 'Events that a consumer (service__subject) has not handled yet',
  labelNames: ['consumer'] as const,
});

export const natsDisconnects = new Counter({
  name: 'nats_client_disconnects_total',
  help: 'How often a service lost its connection to NATS',
  labelNames: ['service'] as const,
});
