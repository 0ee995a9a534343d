export * from '@market/persistence/testing';
export * from '@market/test-servers';
export * from './fake-bus.js';
export * from './fake-service.js';
export type * from './marketplace/running-marketplace.js';
export * from './marketplace/start-marketplace.js';
export * from './test-clock.js';
export { OPERATOR } from './marketplace/operator.js';
