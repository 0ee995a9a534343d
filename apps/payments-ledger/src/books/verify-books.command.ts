import { Database } from '@market/persistence';
import { CommandFailure, type CommandDefinition } from '@market/runtime';
import { verifyJournal } from '../journal/verify-journal.js';
import { verifyPayments } from './verify-payments.js';

/** `market-admin books verify`. It only reads and can run while the services run. */
export const verifyBooks: CommandDefinition = {
  name: 'books verify',
  help: 'reads the whole journal and every payment, and prints what does not add up',
  async run(container) {
    const database = container.get(Database);
    const problems = [...(await verifyJournal(database)), ...(await verifyPayments(database))];
    if (problems.length === 0) return 'the books add up';
    throw new CommandFailure(problems.map(({ kind, subject, detail }) => `${kind}\t${subject}\t${detail}`).join('\n'));
  },
};
