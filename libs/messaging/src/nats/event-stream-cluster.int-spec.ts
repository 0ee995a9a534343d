import { SERVICE_NAMES, topology, type ServiceName } from '@market/contracts';
import { newId } from '@market/kernel';
import { describeNeeding, eventually, freePort, startNatsServer, type NatsServer } from '@market/test-servers';
import { createUser } from '@nats-io/nkeys';
import { connect, nkeyAuthenticator } from '@nats-io/transport-node';
import { Logger } from '@nestjs/common';
import type { EventRecord } from '../envelope.js';
import type { Link, Transport } from '../transport.js';
import { EVENT_STREAM, STREAM_KEEPER, type StreamSettings } from './event-stream.js';
import { inboxPrefixOf, natsTransport } from './nats.transport.js';
import { natsServerConfig } from './server-config.js';
import { edgePublicKey, natsKeys, natsPublicKeys } from './service-keys.js';

Logger.overrideLogger(false);

const SERVERS = 3;
const settings = (replicas: number): StreamSettings => ({ replicas, maxBytes: 1_000_000, maxAgeSeconds: 3_600 });

interface StreamInfo {
  config: { num_replicas: number };
  cluster: { replicas?: { current: boolean }[] };
  state: { messages: number };
}

describeNeeding('nats-server')('the stream of events on a cluster', () => {
  const seeds = Object.fromEntries(
    SERVICE_NAMES.map((service) => [service, new TextDecoder().decode(createUser().getSeed())]),
  ) as Record<ServiceName, string>;
  const servers: NatsServer[] = [];
  const transports: Transport[] = [];

  beforeAll(async () => {
    const publicKeys = Object.fromEntries(SERVICE_NAMES.map((service) => [service, natsPublicKeys(seeds[service])]));
    const routes = await Promise.all(Array.from({ length: SERVERS }, freePort));
    const cluster = (n: number): string => `server_name: n${n}
cluster {
  name: market
  listen: "127.0.0.1:${routes[n]}"
  routes: [${routes.map((port) => `"nats://127.0.0.1:${port}"`).join(', ')}]
}
`;
    servers.push(
      ...(await Promise.all(
        routes.map((_, n) => startNatsServer({ config: (place) => natsServerConfig(publicKeys, place) + cluster(n) })),
      )),
    );
  });
  afterAll(async () => {
    await Promise.all(transports.map((transport) => transport.close()));
    await Promise.all(servers.map((server) => server.stop()));
  });

  const start = (service: ServiceName, replicas: number): Promise<Link> => {
    const transport = natsTransport(() => ({
      servers: servers.map(({ url }) => url),
      nkeySeed: seeds[service],
      edgeKey: edgePublicKey(seeds['api-gateway']),
      stream: settings(replicas),
      drainMs: 1_000,
    }));
    transports.push(transport);
    return transport.connect(service, topology[service]);
  };
  const info = async (): Promise<StreamInfo> => {
    const connection = await connect({
      servers: servers.map(({ url }) => url),
      inboxPrefix: inboxPrefixOf('catalog'),
      authenticator: nkeyAuthenticator(natsKeys(seeds.catalog).events.getSeed()),
    });
    try {
      return (await connection.request(`$JS.API.STREAM.INFO.${EVENT_STREAM}`, '', { timeout: 5_000 })).json();
    } finally {
      await connection.close();
    }
  };
  const event = (): EventRecord => ({
    id: newId(),
    subject: topology.catalog.emits[0]!.subject,
    payload: {},
    requestId: 'r',
  });

  it('gets the replicas that its keeper is started with, and keeps its events meanwhile', async () => {
    // The servers have chosen who leads JetStream when a stream can be made.
    let emitter!: Link;
    await eventually(async () => void (emitter = await start('catalog', 1)), { withinMs: 60_000 });
    const [before, after] = [event(), event()];
    await eventually(() => emitter.publishEvents([before]), { withinMs: 60_000 });
    expect((await info()).config.num_replicas).toBe(1);

    await start(STREAM_KEEPER, 3);
    await eventually(
      async () => {
        const { config, cluster } = await info();
        expect(config.num_replicas).toBe(3);
        expect(cluster.replicas?.map(({ current }) => current)).toEqual([true, true]);
      },
      { withinMs: 60_000 },
    );
    await eventually(() => emitter.publishEvents([after]), { withinMs: 60_000 });
    expect((await info()).state.messages).toBe(2);
  });
});
