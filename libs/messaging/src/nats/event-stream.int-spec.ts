import { SERVICE_NAMES, topology, type ServiceName } from '@market/contracts';
import { newId } from '@market/kernel';
import { describeNeeding, eventually, startNatsServer, type NatsServer } from '@market/test-servers';
import { createUser } from '@nats-io/nkeys';
import { connect, nkeyAuthenticator } from '@nats-io/transport-node';
import { Logger } from '@nestjs/common';
import { register } from 'prom-client';
import type { EventRecord } from '../envelope.js';
import type { Link, Transport } from '../transport.js';
import { natsProblems } from './check-nats.js';
import { EVENT_STREAM, STREAM_KEEPER, type StreamSettings } from './event-stream.js';
import { inboxPrefixOf, natsTransport } from './nats.transport.js';
import { natsServerConfig } from './server-config.js';
import { edgePublicKey, natsKeys, natsPublicKeys } from './service-keys.js';

Logger.overrideLogger(false);

const SMALL: StreamSettings = { replicas: 1, maxBytes: 200_000, maxAgeSeconds: 3_600, tidyIntervalMs: 50 };

interface StreamInfo {
  config: { max_bytes: number; max_age: number; discard: string };
  state: { messages: number; bytes: number };
}

describeNeeding('nats-server')('the stream of events', () => {
  const seeds = Object.fromEntries(
    SERVICE_NAMES.map((service) => [service, new TextDecoder().decode(createUser().getSeed())]),
  ) as Record<ServiceName, string>;
  let server: NatsServer;
  let transports: Transport[];

  beforeEach(async () => {
    const publicKeys = Object.fromEntries(SERVICE_NAMES.map((service) => [service, natsPublicKeys(seeds[service])]));
    server = await startNatsServer({ config: (place) => natsServerConfig(publicKeys, place) });
    transports = [];
  });
  afterEach(async () => {
    await Promise.all(transports.map((transport) => transport.close()));
    await server.stop();
  });

  const optionsOf = (service: ServiceName, stream: StreamSettings) => ({
    servers: [server.url],
    nkeySeed: seeds[service],
    edgeKey: edgePublicKey(seeds['api-gateway']),
    stream,
    drainMs: 1_000,
  });
  const start = (service: ServiceName, stream: StreamSettings): Promise<Link> => {
    const transport = natsTransport(() => optionsOf(service, stream));
    transports.push(transport);
    return transport.connect(service, topology[service]);
  };
  const info = async (): Promise<StreamInfo> => {
    const connection = await connect({
      servers: [server.url],
      inboxPrefix: inboxPrefixOf('catalog'),
      authenticator: nkeyAuthenticator(natsKeys(seeds.catalog).events.getSeed()),
    });
    const answer = await connection.request(`$JS.API.STREAM.INFO.${EVENT_STREAM}`, '', { timeout: 5_000 });
    await connection.close();
    return answer.json<StreamInfo>();
  };
  const problems = async (): Promise<string[]> =>
    natsProblems('catalog', topology.catalog, optionsOf('catalog', SMALL));
  const emitted = topology.catalog.emits[0]!.subject;
  const large = (): EventRecord => ({
    id: newId(),
    subject: emitted,
    payload: { text: 'x'.repeat(20_000) },
    requestId: 'r',
  });
  const fill = async (emitter: Link): Promise<void> => {
    for (let n = 0; n < 20; n += 1) await emitter.publishEvents([large()]);
  };
  const metric = async (name: string): Promise<number> =>
    Number(/^\w+ (\S+)$/m.exec(await register.getSingleMetricAsString(name))![1]);

  it('gets the bounds of the process that keeps it, also when it is there already', async () => {
    await start('catalog', { ...SMALL, maxBytes: 300_000 });
    expect((await info()).config).toMatchObject({ max_bytes: 300_000, max_age: 3_600_000_000_000, discard: 'new' });
    await start(STREAM_KEEPER, { ...SMALL, maxAgeSeconds: 7_200 });
    expect((await info()).config).toMatchObject({ max_bytes: 200_000, max_age: 7_200_000_000_000 });
  });

  it('refuses events when it is full, loses none of them, says so, and takes more when its bound is raised', async () => {
    const emitter = await start('catalog', SMALL);
    await start(STREAM_KEEPER, SMALL);
    await expect(fill(emitter)).rejects.toThrow(/maximum bytes exceeded/);
    const { state } = await info();
    expect(state.messages).toBe(9);
    expect(await problems()).toEqual([
      expect.stringMatching(
        /^NATS_STREAM_MAX_BYTES: the stream EVENTS is full \(\d+ of 200000 bytes\); start the services/,
      ),
    ]);
    await eventually(async () =>
      expect(
        (await metric('market_event_stream_bytes')) / (await metric('market_event_stream_max_bytes')),
      ).toBeGreaterThan(0.9),
    );
    // The runbook's remedy: the ledger is restarted with a higher bound.
    await start(STREAM_KEEPER, { ...SMALL, maxBytes: 2_000_000 });
    await emitter.publishEvents([large()]);
    expect((await info()).state.messages).toBe(10);
    expect(await problems()).toEqual([]);
  });

  it('keeps an event until every service has handled it, and no longer', async () => {
    const links = Object.fromEntries(
      await Promise.all(SERVICE_NAMES.map(async (service) => [service, await start(service, SMALL)] as const)),
    ) as Record<ServiceName, Link>;
    await expect(fill(links.catalog)).rejects.toThrow(/maximum bytes exceeded/);
    const consumers = SERVICE_NAMES.flatMap((service) =>
      topology[service].consumes.map(({ subject }) => ({ service, subject })),
    );
    const [last, ...others] = consumers.filter(({ subject }) => subject === emitted);
    const received: string[] = [];
    const listen = ({ service, subject }: (typeof consumers)[number]) =>
      links[service].consumeEvents(subject, async (events) => void received.push(...events.map(({ id }) => id)));
    for (const consumer of [...consumers.filter(({ subject }) => subject !== emitted), ...others])
      await listen(consumer);
    await eventually(() => expect(received).toHaveLength(others.length * 9));
    expect((await info()).state.messages).toBe(9);
    await listen(last!);
    await eventually(async () => expect((await info()).state.messages).toBe(0));
    expect(received).toHaveLength((others.length + 1) * 9);
    await links.catalog.publishEvents([large()]);
  });
});
