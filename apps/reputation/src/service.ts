import { defineService } from '@market/runtime';
import { reputationConfig } from './config.js';
import { reputationDatabase } from './database.js';
import { ReputationModule } from './reputation.module.js';
import { scoreCommands } from './score/scores.commands.js';

export const reputation = defineService({
  name: 'reputation',
  module: ReputationModule,
  config: reputationConfig,
  database: reputationDatabase,
  commands: scoreCommands,
});
