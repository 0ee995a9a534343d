import { defineService } from '@market/runtime';
import { identityConfig } from './config.js';
import { identityDatabase } from './database.js';
import { IdentityModule } from './identity.module.js';

export const identity = defineService({
  name: 'identity',
  module: IdentityModule,
  config: identityConfig,
  database: identityDatabase,
});
