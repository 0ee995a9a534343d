import { SERVICE_NAMES, topology, type ServiceName } from '@market/contracts';
import { describeNeeding, eventually, startNatsServer, type NatsServer } from '@market/test-servers';
import { createUser, type KeyPair } from '@nats-io/nkeys';
import { connect, nkeyAuthenticator, PermissionViolationError, type NatsConnection } from '@nats-io/transport-node';
import { consumerName, EVENT_STREAM, STREAM_KEEPER } from './event-stream.js';
import { inboxPrefixOf } from './nats.transport.js';
import { natsKeys, natsPublicKeys } from './service-keys.js';
import { servicesAsked, progressSubject } from './requests-in-progress.js';
import { natsServerConfig } from './server-config.js';

const subjectsOf = (contracts: readonly { subject: string }[]): string[] =>
  contracts.map((contract) => contract.subject);
const consumersOf = (service: ServiceName) =>
  topology[service].consumes.map(({ subject }) => ({ name: consumerName(service, subject), filter: subject }));

const COMMON_SUBJECTS = {
  rpc: SERVICE_NAMES.flatMap((service) => subjectsOf(Object.values(topology[service].serves))),
  evt: SERVICE_NAMES.flatMap((service) => subjectsOf(topology[service].emits)),
  sig: SERVICE_NAMES.flatMap((service) => [...subjectsOf(topology[service].signals), progressSubject(service)]),
  consumers: SERVICE_NAMES.flatMap(consumersOf),
  inboxes: SERVICE_NAMES.map((service) => `${inboxPrefixOf(service)}.${'x'.repeat(22)}`),
  answers: SERVICE_NAMES.flatMap((caller) => SERVICE_NAMES.map((service) => answerOf(service, caller))),
};

const STREAM_ADMIN_SUBJECTS = [
  'INFO',
  'CREATE',
  'UPDATE',
  'DELETE',
  'PURGE',
  'SNAPSHOT',
  'RESTORE',
  'MSG.GET',
  'MSG.DELETE',
  'LEADER.STEPDOWN',
].map((power) => `$JS.API.STREAM.${power}.${EVENT_STREAM}`);
const KEEPER_SUBJECTS = ['STREAM.UPDATE', 'STREAM.PURGE', 'CONSUMER.LIST'].map(
  (power) => `$JS.API.${power}.${EVENT_STREAM}`,
);
const consumerPowers = ({ name, filter }: { name: string; filter: string }): string[] => [
  `$JS.API.CONSUMER.CREATE.${EVENT_STREAM}.${name}.${filter}`,
  ...['INFO', 'MSG.NEXT', 'CREATE', 'DURABLE.CREATE', 'DELETE'].map(
    (power) => `$JS.API.CONSUMER.${power}.${EVENT_STREAM}.${name}`,
  ),
  `$JS.ACK.${EVENT_STREAM}.${name}.1.1.1.1.1`,
];

const PUBLISHED = [
  ...COMMON_SUBJECTS.rpc,
  ...COMMON_SUBJECTS.evt,
  ...COMMON_SUBJECTS.sig,
  ...COMMON_SUBJECTS.inboxes,
  ...COMMON_SUBJECTS.answers,
  ...COMMON_SUBJECTS.inboxes.map((inbox) => `${inbox}.1`),
  ...STREAM_ADMIN_SUBJECTS,
  ...COMMON_SUBJECTS.consumers.flatMap(consumerPowers),
  `$JS.API.STREAM.CREATE.OTHER`,
  `$JS.API.CONSUMER.CREATE.${EVENT_STREAM}`,
  `$JS.API.CONSUMER.LIST.${EVENT_STREAM}`,
  `$JS.API.CONSUMER.CREATE.${EVENT_STREAM}.stranger`,
  `$JS.API.DIRECT.GET.${EVENT_STREAM}`,
  '$JS.API.INFO',
  '$JS.API.STREAM.NAMES',
  '$SYS.REQ.SERVER.PING',
  'rpc.unknown.v1',
  'anything',
];
const QUEUES = [undefined, ...SERVICE_NAMES];
const SUBSCRIBED = [
  ...COMMON_SUBJECTS.rpc.flatMap((subject) => QUEUES.map((queue) => ({ subject, queue }))),
  ...[...COMMON_SUBJECTS.evt, ...COMMON_SUBJECTS.sig, ...COMMON_SUBJECTS.inboxes].map((subject) => ({
    subject,
    queue: undefined,
  })),
  ...SERVICE_NAMES.map((service) => ({ subject: `${inboxPrefixOf(service)}.>`, queue: undefined })),
  ...[
    '>',
    '*',
    'rpc.>',
    'evt.>',
    'sig.>',
    '_INBOX.>',
    '*.>',
    '$JS.>',
    '$JS.API.>',
    '$JS.ACK.>',
    '$SYS.>',
    '$JS.EVENT.ADVISORY.>',
  ].map((subject) => ({ subject, queue: undefined })),
];

function mayPublishRequests(service: ServiceName): string[] {
  const { serves, calls, signals } = topology[service];
  return [
    ...subjectsOf([...calls, ...signals]),
    ...(Object.keys(serves).length > 0 ? [progressSubject(service)] : []),
    ...SERVICE_NAMES.filter((caller) => servicesAsked(topology[caller]).includes(service)).map((caller) =>
      answerOf(service, caller),
    ),
  ].sort();
}

function mayPublishEvents(service: ServiceName): string[] {
  const { emits, consumes } = topology[service];
  const usesStream = emits.length > 0 || consumes.length > 0;
  return [
    ...subjectsOf(emits),
    ...(usesStream ? STREAM_ADMIN_SUBJECTS.slice(0, 2) : []),
    ...(service === STREAM_KEEPER ? KEEPER_SUBJECTS : []),
    ...consumersOf(service).flatMap((consumer) => {
      const [create, info, next] = consumerPowers(consumer);
      return [create!, info!, next!, consumerPowers(consumer).at(-1)!];
    }),
  ].sort();
}

const maySubscribeToEvents = (service: ServiceName): string[] =>
  [`${inboxPrefixOf(service)}.>`, COMMON_SUBJECTS.inboxes[SERVICE_NAMES.indexOf(service)]!].sort();

function maySubscribe(service: ServiceName): string[] {
  const { serves, subscribes } = topology[service];
  return [
    ...subjectsOf(Object.values(serves)).map((subject) => `${subject} in ${service}`),
    ...subjectsOf(subscribes),
    ...servicesAsked(topology[service]).map(progressSubject),
    `${inboxPrefixOf(service)}.>`,
    COMMON_SUBJECTS.inboxes[SERVICE_NAMES.indexOf(service)]!,
  ].sort();
}

describeNeeding('nats-server')('the permissions of a broker', () => {
  let server: NatsServer;
  const seeds = Object.fromEntries(
    SERVICE_NAMES.map((service) => [service, new TextDecoder().decode(createUser().getSeed())]),
  ) as Record<ServiceName, string>;
  const users = Object.fromEntries(
    SERVICE_NAMES.map((service) => [service, natsKeys(seeds[service]).requests]),
  ) as Record<ServiceName, KeyPair>;
  const connectAs = (user: KeyPair, inboxPrefix = '_INBOX'): Promise<NatsConnection> =>
    connect({
      servers: [server.url],
      authenticator: nkeyAuthenticator(user.getSeed()),
      inboxPrefix,
      reconnect: false,
      maxReconnectAttempts: 0,
    });

  beforeAll(async () => {
    const publicKeys = Object.fromEntries(SERVICE_NAMES.map((service) => [service, natsPublicKeys(seeds[service])]));
    server = await startNatsServer({ config: (place) => natsServerConfig(publicKeys, place) });
  });
  afterAll(() => server.stop());

  it.each(
    SERVICE_NAMES.flatMap((service) => [
      { service, account: 'requests' as const, publishes: mayPublishRequests, hears: maySubscribe },
      { service, account: 'events' as const, publishes: mayPublishEvents, hears: maySubscribeToEvents },
    ]),
  )('let $service say and hear what it declares among $account, and nothing else', async (user) => {
    const { service, account, publishes, hears } = user;
    const connection = await connectAs(natsKeys(seeds[service])[account]);
    const refused = { publish: new Set<string>(), subscription: new Set<string>() };
    const watching = (async () => {
      for await (const status of connection.status()) {
        if (status.type !== 'error' || !(status.error instanceof PermissionViolationError)) continue;
        const { operation, subject, queue } = status.error;
        refused[operation].add(operation === 'publish' ? subject : nameOf({ subject, queue }));
      }
    })();
    for (const subject of PUBLISHED) connection.publish(subject, '');
    for (const { subject, queue } of SUBSCRIBED) connection.subscribe(subject, { queue, callback: () => undefined });
    await connection.flush();
    await connection.close();
    await watching;

    expect(PUBLISHED.filter((subject) => !refused.publish.has(subject)).sort()).toEqual(publishes(service));
    expect(
      SUBSCRIBED.map(nameOf)
        .filter((name) => !refused.subscription.has(name))
        .sort(),
    ).toEqual(hears(service));
  });

  it.each(SERVICE_NAMES.filter((service) => topology[service].consumes.length > 0))(
    'let JetStream deliver nothing into requests with the keys of %s',
    async (service) => {
      const [pulled, pushed] = topology[service].consumes.map(({ subject }) => subject) as [string, string];
      const target = topology.catalog.serves.updateListing!.subject;
      const received: string[] = [];
      const victim = await connectAs(users.catalog);
      victim.subscribe(target, {
        queue: 'catalog',
        callback: (_error, message) => void received.push(message.string()),
      });
      await victim.flush();

      const prefix = inboxPrefixOf(service);
      const thief = await connectAs(natsKeys(seeds[service]).events, prefix);
      const ask = async (subject: string, body: unknown): Promise<void> => {
        const answer = await thief.request(subject, JSON.stringify(body), { timeout: 5_000 });
        expect(answer.json()).not.toHaveProperty('error');
      };
      await ask(`$JS.API.STREAM.CREATE.${EVENT_STREAM}`, { name: EVENT_STREAM, subjects: ['evt.>'] });
      const consume = (filter_subject: string, more: object): Promise<void> => {
        const durable_name = consumerName(service, filter_subject);
        const config = { filter_subject, durable_name, ack_policy: 'explicit', deliver_policy: 'all', ...more };
        const subject = `$JS.API.CONSUMER.CREATE.${EVENT_STREAM}.${durable_name}.${filter_subject}`;
        return ask(subject, { stream_name: EVENT_STREAM, config });
      };
      await consume(pushed, { deliver_subject: target });
      await consume(pulled, {});
      for (const subject of [pulled, pulled, pushed]) {
        const emitter = SERVICE_NAMES.find((name) => subjectsOf(topology[name].emits).includes(subject))!;
        const source = await connectAs(natsKeys(seeds[emitter]).events, inboxPrefixOf(emitter));
        await source.request(subject, '{"forged":true}', { timeout: 5_000 });
        await source.close();
      }
      const own = thief.subscribe(`${prefix}.pulled`, { max: 1 });
      for (const reply of [target, `${prefix}.pulled`])
        thief.publish(`$JS.API.CONSUMER.MSG.NEXT.${EVENT_STREAM}.${consumerName(service, pulled)}`, '', { reply });
      thief.publish(`$JS.API.STREAM.INFO.${EVENT_STREAM}`, '', { reply: target });
      // The same way leads to a subject of its own, so it is only the target that is out of reach.
      for await (const message of own) expect(message.string()).toBe('{"forged":true}');
      await victim.flush();
      expect(received).toEqual([]);
      await Promise.all([victim, thief].map((connection) => connection.close()));
    },
  );

  it('let nobody in without a credential, or with one of a stranger', async () => {
    await expect(connect({ servers: [server.url], reconnect: false })).rejects.toThrow(/authorization/i);
    await expect(
      connect({ servers: [server.url], user: 'gateway', pass: 'gateway', reconnect: false }),
    ).rejects.toThrow(/authorization/i);
    await expect(connectAs(createUser())).rejects.toThrow(/authorization/i);
  });

  it('show no service the answers another one gets', async () => {
    const answering = await connectAs(users.identity, inboxPrefixOf('identity'));
    const subject = topology.identity.serves.authenticate!.subject;
    answering.subscribe(subject, {
      queue: 'identity',
      callback: (_error, message) => void message.respond('the secret'),
    });
    await answering.flush();

    const overheard: string[] = [];
    const snoops = await Promise.all(
      SERVICE_NAMES.filter((service) => service !== 'api-gateway').map((service) =>
        connectAs(users[service], inboxPrefixOf(service)),
      ),
    );
    for (const snoop of snoops) {
      for (const tapped of [
        '>',
        '_INBOX.>',
        `${inboxPrefixOf('api-gateway')}.>`,
        `${inboxPrefixOf('api-gateway')}.*`,
        '*.>',
      ]) {
        snoop.subscribe(tapped, { callback: (error, message) => void (error ?? overheard.push(message.subject)) });
      }
      await snoop.flush();
    }

    const edge = await connectAs(users['api-gateway'], inboxPrefixOf('api-gateway'));
    for (let n = 0; n < 20; n += 1) {
      const options = { timeout: 2_000, noMux: true, reply: answerOf('identity', 'api-gateway', n) };
      expect((await edge.request(subject, '', options)).string()).toBe('the secret');
    }
    await Promise.all(snoops.map((snoop) => snoop.flush()));
    expect(overheard).toEqual([]);
    await Promise.all([edge, answering, ...snoops].map((connection) => connection.close()));
  });

  it('let a service answer those that call it under its own name, and nobody under the name of another', async () => {
    const answering = await connectAs(users.identity, inboxPrefixOf('identity'));
    const edge = await connectAs(users['api-gateway'], inboxPrefixOf('api-gateway'));
    const received: string[] = [];
    edge.subscribe(`${inboxPrefixOf('api-gateway')}.>`, {
      callback: (_error, message) => void received.push(message.subject),
    });
    await edge.flush();
    const [own, foreign] = [answerOf('identity', 'api-gateway'), answerOf('payments-ledger', 'api-gateway')];
    for (const subject of [foreign, COMMON_SUBJECTS.inboxes[SERVICE_NAMES.indexOf('api-gateway')]!, own])
      answering.publish(subject, 'an answer');
    await eventually(() => expect(received).toContain(own));
    expect(received).toEqual([own]);

    // The subject of a request's answer, which the service is told, does not allow it more.
    const asked = topology.identity.serves.authenticate!.subject;
    answering.subscribe(asked, { queue: 'identity', callback: (_error, message) => void message.respond('an answer') });
    await answering.flush();
    edge.publish(asked, '', { reply: foreign });
    edge.publish(asked, '', { reply: answerOf('identity', 'api-gateway', 2) });
    await eventually(() => expect(received).toHaveLength(2));
    expect(received).toEqual([own, answerOf('identity', 'api-gateway', 2)]);
    await Promise.all([edge.close(), answering.close()]);
  });
});

/** The subject of an answer to a request of `caller`. */
function answerOf(service: ServiceName, caller: ServiceName, request = 1): string {
  return `${inboxPrefixOf(caller)}.${'x'.repeat(22)}.${service}.${request}`;
}

function nameOf({ subject, queue }: { subject: string; queue?: string }): string {
  return queue ? `${subject} in ${queue}` : subject;
}
