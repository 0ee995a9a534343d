import { defineConfig, defineService } from '@market/runtime';
import { reputationDatabase } from './database.js';
import { ReputationModule } from './reputation.module.js';

export const reputation = defineService({
  name: 'reputation',
  module: ReputationModule,
  config: defineConfig('reputation', {}),
  database: reputationDatabase,
});
