import { CommandFailure, type CommandDefinition } from '@market/runtime';
import { ScoreSums } from './score-sums.js';

export const scoreCommands: readonly CommandDefinition[] = [
  {
    name: 'scores verify',
    help: 'compares the sums of scores with the facts and ends with 1 if they differ; changes nothing',
    async run(container) {
      const { accounts, differences } = await container.get(ScoreSums).verify();
      if (differences.length > 0)
        throw new CommandFailure(
          `${differences.length} differences between what is stored and what the facts say:\n${differences.join('\n')}`,
        );
      return `${accounts} accounts are as the facts say`;
    },
  },
  {
    name: 'scores recompute',
    help: 'adds up again from the facts what scores are computed from',
    async run(container, { operator }) {
      return `${await container.get(ScoreSums).recompute(operator)} accounts were computed from the facts`;
    },
  },
];
