import type { DatabaseDefinition } from '@market/persistence';
import { EndpointSecretEntity } from './endpoints/endpoint-secret.entity.js';
import { EndpointEntity } from './endpoints/endpoint.entity.js';
import { CreateGateway1763650100000 } from './migrations/1763650100000-create-gateway.js';

/** Endpoints are entities; calls and their history are prepared SQL, as everything on the money path. */
export const gatewayDatabase: DatabaseDefinition = {
  schema: 'gateway',
  entities: [EndpointEntity, EndpointSecretEntity],
  migrations: [CreateGateway1763650100000],
};
