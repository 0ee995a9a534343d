import { Database, latestOperatorActions, type OperatorAction } from '@market/persistence';
import { CommandFailure, databaseUrlOf, runCommand, type CommandInput, type Environment } from '@market/runtime';
import { keepingServices } from '../keeping-services.js';
import type { AdminCommand } from './admin-command.js';
import { backupCommands } from './backup.js';
import { doctor } from './doctor.js';

type Entry = OperatorAction & { doneAt: Date; service: string };

const MAX_ROWS = 100;

const audit: AdminCommand = {
  name: 'audit',
  help: `prints what operators did, the latest ${MAX_ROWS} of each service unless --last says otherwise, oldest first`,
  options: { last: { help: 'how many, 1 to 100000' } },
  async run({ options }, env) {
    const limit = options.last === undefined ? MAX_ROWS : Number(options.last);
    if (!Number.isInteger(limit) || limit < 1 || limit > 100_000)
      throw new CommandFailure('--last must be a number from 1 to 100000');
    const entries: Entry[] = [];
    for (const { name, database } of keepingServices) {
      const url = databaseUrlOf(name, env);
      if (!url) continue;
      const opened = await Database.open(database, { url, poolSize: 2 });
      const actions = await latestOperatorActions(opened, limit).finally(() => opened.close());
      entries.push(...actions.map((action) => ({ ...action, service: name })));
    }
    const inOrder = entries.sort((a, b) => a.doneAt.getTime() - b.doneAt.getTime());
    return inOrder
      .map(({ doneAt, operator, service, command, subject, reason }) =>
        [doneAt.toISOString(), operator, service, command, subject, reason === null ? '' : JSON.stringify(reason)].join(
          '\t',
        ),
      )
      .join('\n');
  },
};

/** All commands of operators: those that the services declare, and the one that lists what operators did. */
export const adminCommands: readonly AdminCommand[] = [
  ...keepingServices.flatMap((service) =>
    (service.commands ?? []).map((command) => ({
      ...command,
      run: (input: CommandInput, env: Environment) =>
        runCommand(
          service,
          command,
          input,
          env,
          keepingServices.filter(({ name }) => command.asks?.includes(name)),
        ),
    })),
  ),
  audit,
  ...backupCommands,
  doctor,
];
