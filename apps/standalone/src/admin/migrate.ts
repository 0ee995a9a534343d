import { migrate } from '@market/persistence';
import { CommandFailure, databaseUrlOf } from '@market/runtime';
import { reasonOf } from '../reason-of.js';
import { statefulServices } from '../stateful-services.js';
import type { AdminCommand } from './admin-command.js';

/** `market-admin migrate`. */
export const migrateCommand: AdminCommand = {
  name: 'migrate',
  help: 'brings the schema of every service up to date, each on the server that its URL names, and prints what ran',
  async run(_input, env) {
    const targets = statefulServices.map(({ name, database }) => ({ name, database, url: databaseUrlOf(name, env) }));
    const unnamed = targets.filter(({ url }) => !url).map(({ name }) => name);
    if (unnamed.length > 0)
      throw new CommandFailure(`DATABASE_URL: is required by ${unnamed.join(', ')} (PostgreSQL 15 or later)`);
    const done: string[] = [];
    for (const { name, database, url } of targets) {
      const ran = await migrate(database, url!).catch((error: unknown) => {
        throw new CommandFailure([...done, `${name}: ${reasonOf(error)}`].join('\n'));
      });
      done.push(`${name.padEnd(16)} ${ran.length === 0 ? 'is up to date' : `ran ${ran.join(', ')}`}`);
    }
    return done.join('\n');
  },
};
