import { parseEdgeKeys } from '@market/messaging';
import { z } from 'zod';
import { defineConfig, integer, optional, text, variable } from './define-config.js';

const edgeKey = z.string().superRefine((value, context) => {
  try {
    parseEdgeKeys(value);
  } catch {
    context.addIssue({ code: 'custom', message: 'is not the key that deploy/nats/generate-keys.mjs names' });
  }
});

/** The variables that a process of the distributed marketplace reads in addition to `platformConfig`. */
export const natsConfig = defineConfig('nats', {
  servers: variable('NATS_URL', text(), 'NATS servers, comma separated: nats://host:4222'),
  nkeySeed: variable(
    'NATS_NKEY_SEED',
    optional(text()),
    "this service's nkey seed; absent only where the broker asks for none",
  ),
  edgeKey: variable(
    'NATS_EDGE_KEY',
    optional(edgeKey),
    'public key by which services verify the principal that the edge signs; two, comma separated, while it is ' +
      'replaced',
  ),
  streamReplicas: variable('NATS_STREAM_REPLICAS', integer(1, 5, 1), "replicas of JetStream's stream of events"),
  streamMaxBytes: variable(
    'NATS_STREAM_MAX_BYTES',
    integer(1_048_576, 1_099_511_627_776, 1_073_741_824),
    'bytes of unhandled events that JetStream keeps; beyond, events wait in the outboxes',
  ),
  streamMaxAgeHours: variable(
    'NATS_STREAM_MAX_AGE_HOURS',
    integer(1, 8_760, 168),
    'after how many hours JetStream drops an unhandled event',
  ),
});
