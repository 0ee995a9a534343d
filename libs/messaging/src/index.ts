export * from './request-context.js';
export * from './envelope.js';
export * from './handle-event.decorator.js';
export * from './handle-request.decorator.js';
export * from './message-bus.js';
export * from './refuse.js';
export * from './transport.js';
export { inProcessTransport } from './in-process.transport.js';
export { natsProblems } from './nats/check-nats.js';
export { consumerName, EVENT_STREAM } from './nats/event-stream.js';
export {
  inboxPrefixOf,
  natsTransport,
  REQUIRED_MAX_PAYLOAD,
  type NatsTransportOptions,
} from './nats/nats.transport.js';
export { assertContractServed } from './assert-contract-served.js';
export {
  natsPermissionsOf,
  natsServerConfig,
  type NatsPermissions,
  type NatsServerPlace,
} from './nats/server-config.js';
