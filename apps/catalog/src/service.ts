import { defineService } from '@market/runtime';
import { CatalogModule } from './catalog.module.js';
import { catalogConfig } from './config.js';
import { catalogDatabase } from './database.js';
import { listingsCommands } from './listings/listings.commands.js';
import { samplesCommands } from './samples/samples.commands.js';

export const catalog = defineService({
  name: 'catalog',
  module: CatalogModule,
  config: catalogConfig,
  database: catalogDatabase,
  commands: [...listingsCommands, ...samplesCommands],
});
