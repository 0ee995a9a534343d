import type { CommandDefinition } from '@market/runtime';
import { InspectListings } from './inspect-listings.query.js';

const duplicates: CommandDefinition = {
  name: 'listing duplicates',
  help:
    'prints names that several active listings share, or that look alike: how many, of how many sellers, the ' +
    'name, the ids',
  async run(container) {
    const found = await container.get(InspectListings).namesakes();
    return found.map(({ name, ids, sellers }) => [ids.length, sellers, name, ids.join(' ')].join('\t')).join('\n');
  },
};

export const listingsCommands: readonly CommandDefinition[] = [duplicates];
