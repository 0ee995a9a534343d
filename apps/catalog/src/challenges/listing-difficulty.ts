const MAX_DIFFICULTY = 16;

/**
 * Returns the number of leading hex zeros of the next proof of work. It grows by one, which is sixteen times the work,
 * for every `step` listings that the agent created within the last hour or can still create with open challenges.
 */
export const listingDifficulty = ({ base, step, recent }: { base: number; step: number; recent: number }): number =>
  Math.min(MAX_DIFFICULTY, base + Math.floor(recent / step));
