import {
  topology as marketplace,
  type RequestContract,
  type ServiceName,
  type ServiceTopology,
} from '@market/contracts';
import type { NatsPublicKeys } from './service-keys.js';
import { consumerName, EVENT_STREAM, STREAM_KEEPER } from './event-stream.js';
import { answersOf, inboxPrefixOf, REQUIRED_MAX_PAYLOAD } from './nats.transport.js';
import { servicesAsked, progressSubject } from './requests-in-progress.js';

export interface NatsServerPlace {
  host?: string;
  port: number;
  /** Where JetStream keeps its files. */
  storeDir: string;
  /** Port of the server's own /healthz. If it is absent, there is none. */
  monitorPort?: number;
  /** Every acknowledged event is on disk. Needs nats-server 2.10; 2.9 does not start with this setting. */
  syncAlways?: boolean;
  /** The public key of a user for the operator, who may look at the stream of events and change it, but send none. */
  operatorKey?: string;
  /** The services and the subjects that they send and receive. The default is the marketplace's own topology. */
  topology?: Partial<Record<ServiceName, ServiceTopology>>;
}

/** The subjects that one user may publish and subscribe to. A subscription entry may end in ` <queue>`. */
interface NatsPermissions {
  publish: string[];
  subscribe: string[];
}

/** On a host that starts all services at once, a service may take longer than the server's default of two seconds. */
const AUTHENTICATED_WITHIN_SECONDS = 10;
/** A paused process answers no ping. After six to eight seconds the broker sends it no more requests. */
const PING_INTERVAL = '1s';
const PINGS_UNANSWERED = 3;

/**
 * Derives a service's permissions for requests from its topology and its callers. Answers are allowed by their subject
 * and not with `allow_responses`, for which the server remembers every message that a service receives and could answer,
 * also every event, and which makes nats-server 2.9 read all of them again for each further message.
 */
function requestPermissions(
  service: ServiceName,
  { serves, calls, signals, subscribes }: ServiceTopology,
  callers: ServiceName[],
): NatsPermissions {
  const served = Object.values(serves) as RequestContract[];
  return {
    publish: [
      ...subjects(calls),
      ...subjects(signals),
      ...callers.map((caller) => answersOf(service, caller)),
      ...(served.length > 0 ? [progressSubject(service)] : []),
    ],
    subscribe: [
      ...subjects(served).map((subject) => `${subject} ${service}`),
      ...subjects(subscribes),
      ...servicesAsked({ calls }).map(progressSubject),
      `${inboxPrefixOf(service)}.>`,
    ],
  };
}

const KEEPER_SUBJECTS = ['STREAM.UPDATE', 'STREAM.PURGE', 'CONSUMER.LIST'].map(
  (operation) => `$JS.API.${operation}.${EVENT_STREAM}`,
);

/** What a service may do in the account of events, in which JetStream is and no request. */
function eventPermissions(service: ServiceName, { emits, consumes }: ServiceTopology): NatsPermissions {
  return {
    publish: [
      ...subjects(emits),
      ...(emits.length + consumes.length > 0
        ? [`$JS.API.STREAM.INFO.${EVENT_STREAM}`, `$JS.API.STREAM.CREATE.${EVENT_STREAM}`]
        : []),
      ...(service === STREAM_KEEPER ? KEEPER_SUBJECTS : []),
      ...subjects(consumes).flatMap((subject) => ownConsumer(consumerName(service, subject), subject)),
    ],
    subscribe: [`${inboxPrefixOf(service)}.>`],
  };
}

const OPERATORS_PERMISSIONS: NatsPermissions = { publish: ['$JS.API.>'], subscribe: ['_INBOX.>'] };

/**
 * The configuration of a nats-server on which each service is an nkey user whose permissions follow from its topology,
 * in an account for requests and signals, and another in an account for events.
 * There is no anonymous access, no service can read another service's answers, and none can answer for another.
 */
export function natsServerConfig(
  publicKeys: Partial<Record<ServiceName, NatsPublicKeys>>,
  place: NatsServerPlace,
): string {
  const {
    host = '127.0.0.1',
    port,
    storeDir,
    monitorPort,
    syncAlways = false,
    operatorKey,
    topology = marketplace,
  } = place;
  const services = Object.entries(topology) as [ServiceName, ServiceTopology][];
  const users = services.map(([service, declared]) => {
    const keys = publicKeys[service];
    if (!keys) throw new Error(`there is no public key for ${service}`);
    const callers = services
      .filter(([, { calls }]) => servicesAsked({ calls }).includes(service))
      .map(([name]) => name);
    return {
      requests: user(service, keys.requests, requestPermissions(service, declared, callers)),
      events: user(service, keys.events, eventPermissions(service, declared)),
    };
  });
  const eventUsers = users.map(({ events }) => events);
  if (operatorKey !== undefined) eventUsers.push(user('the operator', operatorKey, OPERATORS_PERMISSIONS));
  return [
    `listen: ${JSON.stringify(`${host}:${port}`)}`,
    ...(monitorPort === undefined ? [] : [`http: ${JSON.stringify(`${host}:${monitorPort}`)}`]),
    `max_payload: ${REQUIRED_MAX_PAYLOAD}`,
    `ping_interval: ${JSON.stringify(PING_INTERVAL)}`,
    `ping_max: ${PINGS_UNANSWERED}`,
    `jetstream {\n  store_dir: ${JSON.stringify(storeDir)}${syncAlways ? '\n  sync_interval: always' : ''}\n}`,
    `authorization {\n  timeout: ${AUTHENTICATED_WITHIN_SECONDS}\n}`,
    'accounts {',
    `  REQUESTS {\n  users = [\n${users.map(({ requests }) => requests).join('\n')}\n  ]\n  }`,
    `  EVENTS {\n  jetstream: enabled\n  users = [\n${eventUsers.join('\n')}\n  ]\n  }`,
    '}',
    '',
  ].join('\n');
}

function ownConsumer(name: string, filter: string): string[] {
  return [
    `$JS.API.CONSUMER.CREATE.${EVENT_STREAM}.${name}.${filter}`,
    `$JS.API.CONSUMER.INFO.${EVENT_STREAM}.${name}`,
    `$JS.API.CONSUMER.MSG.NEXT.${EVENT_STREAM}.${name}`,
    `$JS.ACK.${EVENT_STREAM}.${name}.>`,
  ];
}

function user(name: string, publicKey: string, { publish, subscribe }: NatsPermissions): string {
  return [
    `    # ${name}`,
    '    {',
    `      nkey: ${publicKey}`,
    '      permissions {',
    `        publish { ${only(publish)} }`,
    `        subscribe { ${only(subscribe)} }`,
    '      }',
    '    }',
  ].join('\n');
}

const subjects = (contracts: readonly { subject: string }[]): string[] => contracts.map((contract) => contract.subject);

/** The server treats an empty allow-list as no restriction. */
const only = (entries: string[]): string =>
  entries.length === 0
    ? 'deny: [">"]'
    : `allow: [${entries.map((entry) => `\n          ${JSON.stringify(entry)}`).join('')}\n        ]`;
