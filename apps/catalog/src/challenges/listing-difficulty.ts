const MAX_DIFFICULTY = 16;

/**
 * Hex zeros of the next proof of work: one more, and so sixteen times the work, for every `step` listings that the
 * agent made within the hour or may still make with challenges it holds.
 */
export const listingDifficulty = ({ base, step, recent }: { base: number; step: number; recent: number }): number =>
  Math.min(MAX_DIFFICULTY, base + Math.floor(recent / step));
