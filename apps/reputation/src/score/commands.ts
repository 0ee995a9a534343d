import { CommandFailure, type CommandDefinition } from '@market/runtime';
import { RecomputeScores } from './recompute-scores.js';
import { VerifyScores } from './verify-scores.js';

export const scoreCommands: readonly CommandDefinition[] = [
  {
    name: 'scores verify',
    help: 'computes every score from the facts and ends with 1 when one that is served differs; changes nothing',
    async run(container) {
      const { accounts, scores, changing, differences } = await container.get(VerifyScores).execute();
      if (differences.length > 0) throw new CommandFailure(`${differences.length} differences between what is served and what the facts say:\n${differences.join('\n')}`);
      return `${accounts} accounts and ${scores} scores are as the facts say${changing > 0 ? `; ${changing} more were changing` : ''}`;
    },
  },
  {
    name: 'scores recompute',
    help: 'adds up all facts again and computes every score from them',
    async run(container) {
      return `${await container.get(RecomputeScores).execute()} accounts were computed from the facts`;
    },
  },
];
