import type { DatabaseDefinition } from '@market/persistence';
import { EndpointSecretEntity } from './endpoints/endpoint-secret.entity.js';
import { EndpointEntity } from './endpoints/endpoint.entity.js';
import { CreateGateway1763650100000 } from './migrations/1763650100000-create-gateway.js';
import { WatchEndpoints1763720000000 } from './migrations/1763720000000-watch-endpoints.js';
import { SealEndpointUrls1763760000000 } from './migrations/1763760000000-seal-endpoint-urls.js';

/** Endpoints are entities; calls and their history are prepared SQL, as everything on the money path. */
export const gatewayDatabase: DatabaseDefinition = {
  schema: 'gateway',
  entities: [EndpointEntity, EndpointSecretEntity],
  migrations: [CreateGateway1763650100000, WatchEndpoints1763720000000, SealEndpointUrls1763760000000],
};
