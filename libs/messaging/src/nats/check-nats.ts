import type { ServiceName, ServiceTopology } from '@market/contracts';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { isRefusedKey, REFUSED_KEY } from './broker-failure.js';
import { EVENT_STREAM, STREAM_KEEPER } from './event-stream.js';
import { authenticated, inboxPrefixOf, REQUIRED_MAX_PAYLOAD, type NatsTransportOptions } from './nats.transport.js';
import { progressSubject, servicesAsked } from './requests-in-progress.js';

const TIMEOUT_MS = 5_000;
/** The part of its bytes with which a stream soon takes no further event, which may be large. */
const FULL = 0.9;
/** JetStream's error codes for "JetStream is not enabled", by server and by account. */
const NO_JETSTREAM = new Set([10_039, 10_076]);

/**
 * Checks whether a service can work with the broker: the maximum size of messages, JetStream, and the subscriptions.
 * Publishing is not tested, because it would send messages. The requests that the service serves are not tested either,
 * because a subscription would take them from running processes.
 * @returns what is wrong, in sentences. @throws if the broker is unavailable.
 */
export async function natsProblems(
  service: ServiceName,
  { serves: _, ...declared }: ServiceTopology,
  { servers, nkeySeed }: NatsTransportOptions,
): Promise<string[]> {
  const connectTo = async (account: 'requests' | 'events') => {
    try {
      return await connect({
        servers,
        name: `${service} doctor`,
        inboxPrefix: inboxPrefixOf(service),
        timeout: TIMEOUT_MS,
        reconnect: false,
        ...authenticated(nkeySeed, account),
      });
    } catch (error) {
      if (isRefusedKey(error)) return null;
      throw error;
    }
  };
  const connection = await connectTo('requests');
  const eventConnection = connection && (await connectTo('events'));
  if (!connection || !eventConnection) {
    await connection?.close();
    return [`NATS_NKEY_SEED: ${REFUSED_KEY}`];
  }
  try {
    const carries = connection.info?.max_payload ?? 0;
    return [
      ...(carries < REQUIRED_MAX_PAYLOAD
        ? [`NATS_URL: the server carries messages of ${carries} bytes; set its max_payload to ${REQUIRED_MAX_PAYLOAD}`]
        : []),
      ...(await permissionProblems(connection, declared)),
      ...(declared.emits.length + declared.consumes.length > 0 ? await streamProblems(eventConnection) : []),
    ];
  } finally {
    await Promise.all([connection.close(), eventConnection.close()]);
  }
}

async function permissionProblems(
  connection: NatsConnection,
  { subscribes, calls }: Pick<ServiceTopology, 'subscribes' | 'calls'>,
): Promise<string[]> {
  const received = [...subscribes.map(({ subject }) => subject), ...servicesAsked({ calls }).map(progressSubject)];
  const refused: string[] = [];
  for (const subject of received)
    connection.subscribe(subject, { callback: (error) => void (error && refused.push(subject)) });
  await connection.flush();
  return refused.map(
    (subject) =>
      `NATS_NKEY_SEED: its user may not subscribe to ${subject}; run deploy/nats/generate-keys.mjs again and reload the server`,
  );
}

/** What JetStream answers to a question about a stream. */
interface StreamAnswer {
  error?: { code: number; err_code: number; description: string };
  config?: { max_bytes: number };
  state?: { bytes: number };
}

async function streamProblems(connection: NatsConnection): Promise<string[]> {
  const { error, config, state } = await connection
    .request(`$JS.API.STREAM.INFO.${EVENT_STREAM}`, '', { timeout: TIMEOUT_MS })
    .then((message) => message.json<StreamAnswer>())
    .catch((reason: unknown): StreamAnswer => ({ error: { code: 503, err_code: 0, description: String(reason) } }));
  if (config && state && config.max_bytes > 0 && state.bytes > config.max_bytes * FULL)
    return [
      `NATS_STREAM_MAX_BYTES: the stream ${EVENT_STREAM} is full (${state.bytes} of ${config.max_bytes} bytes); ` +
        `start the services that have not handled its events, or raise it and restart ${STREAM_KEEPER}`,
    ];
  // The first process that starts creates a missing stream.
  if (!error || error.code === 404) return [];
  return NO_JETSTREAM.has(error.err_code) || error.err_code === 0
    ? [
        `NATS_URL: JetStream does not answer (${error.description}); ` +
          `turn it on at the server and let the user ask for the stream ${EVENT_STREAM}`,
      ]
    : [`NATS_URL: JetStream refuses to tell of the stream ${EVENT_STREAM}: ${error.description}`];
}
