import type { DatabaseDefinition } from '@market/persistence';
import { CreateGateway1763650100000 } from './migrations/1763650100000-create-gateway.js';

export const gatewayDatabase: DatabaseDefinition = {
  schema: 'gateway',
  migrations: [CreateGateway1763650100000],
};
