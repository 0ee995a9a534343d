import { isUuid } from '@market/kernel';
import { CommandFailure, type CommandDefinition, type CommandInput } from '@market/runtime';
import { RevokeAnyKey } from './revoke-any-key.use-case.js';
import { SuspendAgent } from './suspend-agent.use-case.js';

const REASON = 'why; kept, and shown to operators alone';

/** The id that a command names, and who asks for it and why. */
function wordOf({ arguments: [id], operator, options }: CommandInput) {
  if (!isUuid(id!)) throw new CommandFailure(`${id} is no id`);
  return { id: id!.toLowerCase(), word: { operator, reason: options.reason ?? null } };
}

const suspension = (
  suspended: boolean,
  declared: Pick<CommandDefinition, 'name' | 'help' | 'options'>,
): CommandDefinition => ({
  ...declared,
  arguments: ['id'],
  async run(container, input) {
    const { id, word } = wordOf(input);
    const done = await container.get(SuspendAgent).execute(id, suspended, word);
    if (!done) throw new CommandFailure(`there is no agent ${id}`);
    if (!done.changed) throw new CommandFailure(`${id} (${done.display_name}) is so already`);
    return `${id} (${done.display_name}): ${suspended ? 'suspended' : 'released'}`;
  },
});

const revokeKey: CommandDefinition = {
  name: 'key revoke',
  help: 'ends an API key for good',
  arguments: ['id'],
  options: { reason: { help: REASON, required: true } },
  async run(container, input) {
    const { id, word } = wordOf(input);
    const done = await container.get(RevokeAnyKey).execute(id, word);
    if (!done) throw new CommandFailure(`there is no key ${id}`);
    return `${id}: ${done.changed ? 'revoked' : 'was revoked already'}`;
  },
};

export const operatorsCommands: readonly CommandDefinition[] = [
  suspension(true, {
    name: 'agent suspend',
    help: 'ends what an agent may do, its keys and its wallets, and takes its listings off the market',
    options: { reason: { help: REASON, required: true } },
  }),
  suspension(false, {
    name: 'agent release',
    help: 'lets a suspended agent go on, and brings its listings back',
    options: { reason: { help: REASON } },
  }),
  revokeKey,
];
