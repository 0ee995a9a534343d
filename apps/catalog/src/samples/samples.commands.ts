import { Database, recordOperatorAction } from '@market/persistence';
import { CommandFailure, platformConfig, type CommandDefinition, type ConfigOf } from '@market/runtime';
import { writeSamples } from './samples.js';

const MAX_SAMPLES = 10_000_000;
const PROGRESS_INTERVAL = 100_000;

const seed: CommandDefinition = {
  name: 'listings seed',
  help:
    'writes sample listings, tagged "sample", with sellers of their own, which can be found but not called; ' +
    'never with PAYMENTS_MODE=live',
  options: { listings: { help: `how many, 1 to ${MAX_SAMPLES}`, required: true } },
  async run(container, { operator, options }) {
    const { paymentsMode } = container.get<ConfigOf<typeof platformConfig>>(platformConfig.token);
    if (paymentsMode === 'live')
      throw new CommandFailure('sample listings have no place where payments are real (PAYMENTS_MODE=live)');
    const count = Number(options.listings);
    if (!Number.isInteger(count) || count < 1 || count > MAX_SAMPLES)
      throw new CommandFailure(`--listings must be a number from 1 to ${MAX_SAMPLES}`);
    const startedAt = performance.now();
    const database = container.get(Database);
    const action = { operator, command: 'listings seed', subject: `${count} listings`, reason: null };
    // The action is recorded first, because the listings are written in many transactions.
    await database.transaction((tx) => recordOperatorAction(tx, action));
    await writeSamples(database, count, (written) => {
      if (written % PROGRESS_INTERVAL === 0) process.stderr.write(`${written} listings\n`);
    });
    return `wrote ${count} listings in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`;
  },
};

export const samplesCommands: readonly CommandDefinition[] = [seed];
