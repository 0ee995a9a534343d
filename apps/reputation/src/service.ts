import { defineConfig, defineService } from '@market/runtime';
import { reputationDatabase } from './database.js';
import { ReputationModule } from './reputation.module.js';
import { scoreCommands } from './score/scores.commands.js';

export const reputation = defineService({
  name: 'reputation',
  module: ReputationModule,
  config: defineConfig('reputation', {}),
  database: reputationDatabase,
  commands: scoreCommands,
});
