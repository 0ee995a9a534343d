import { Database } from '@market/persistence';
import { CommandFailure, type CommandDefinition } from '@market/runtime';
import { ReceiptSigner } from './receipt-signer.js';
import { verifyBooks as verify, withOwnConnections } from './verify-books.js';

/** `market-admin books verify`. It only reads and can run while the services run. */
export const verifyBooks: CommandDefinition = {
  name: 'books verify',
  help:
    'reads the journal and the payments since the last signed checkpoint, with --full all of them, and prints what ' +
    'does not add up',
  options: { full: { help: 'reads everything', isFlag: true } },
  async run(container, { options: { full } }) {
    const [database, signer] = [container.get(Database), container.get(ReceiptSigner)];
    const { problems } = await withOwnConnections(database, (pool) =>
      verify(pool, signer, { isFull: full !== undefined }),
    );
    if (problems.length === 0) return 'the books add up';
    throw new CommandFailure(problems.map(({ kind, subject, detail }) => `${kind}\t${subject}\t${detail}`).join('\n'));
  },
};
