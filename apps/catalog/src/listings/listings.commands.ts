import { CommandFailure, type CommandDefinition, type CommandInput } from '@market/runtime';
import { HoldListing, type Moved } from './hold-listing.use-case.js';
import { InspectListings } from './inspect-listings.query.js';

const wordOf = ({ operator, arguments: [ref], options }: CommandInput) => ({
  ref: ref!,
  operator,
  reason: options.reason ?? null,
});

const noListing = ({ arguments: [ref] }: CommandInput): CommandFailure =>
  new CommandFailure(`there is no listing ${ref}`);

function tell(input: CommandInput, moved: Moved | null, nothingToDo: string): string {
  if (!moved) throw noListing(input);
  if (moved.from === moved.to) throw new CommandFailure(`${moved.id} (${moved.name}) ${nothingToDo}`);
  return `${moved.id} (${moved.name}): ${moved.from} -> ${moved.to}`;
}

const suspend: CommandDefinition = {
  name: 'listing suspend',
  help: 'takes a listing off the market; its owner cannot bring it back',
  arguments: ['id|slug'],
  options: { reason: { help: 'why; kept, and shown to operators alone', required: true } },
  run: async (container, input) =>
    tell(
      input,
      await container.get(HoldListing).execute('hold', 'listing suspend', wordOf(input)),
      'is held by an operator already',
    ),
};

const release: CommandDefinition = {
  name: 'listing release',
  help: 'gives back what an operator suspended, in the state it had; what its owner deleted meanwhile stays off the market',
  arguments: ['id|slug'],
  options: { reason: { help: 'why; kept, and shown to operators alone' } },
  run: async (container, input) =>
    tell(
      input,
      await container.get(HoldListing).execute('release', 'listing release', wordOf(input)),
      'is not held by an operator',
    ),
};

const show: CommandDefinition = {
  name: 'listing show',
  help: 'prints a listing in any state as JSON: who suspended it, its slugs, and other listings whose names read the same',
  arguments: ['id|slug'],
  async run(container, input) {
    const listing = await container.get(InspectListings).one(input.arguments[0]!);
    if (!listing) throw noListing(input);
    return JSON.stringify(listing, null, 2);
  },
};

const duplicates: CommandDefinition = {
  name: 'listing duplicates',
  help: 'prints names that several active listings have, letters that look alike taken for the same: how many, of how many sellers, the name, the ids',
  async run(container) {
    const found = await container.get(InspectListings).namesakes();
    return found.map(({ name, ids, sellers }) => [ids.length, sellers, name, ids.join(' ')].join('\t')).join('\n');
  },
};

export const listingsCommands: readonly CommandDefinition[] = [suspend, release, show, duplicates];
