/** The numbers of successes and failures that count. */
export interface Tally {
  successes: number;
  failures: number;
}

const FOUR_DECIMALS = 10_000;
/** The quantile of the normal distribution with which the lower bound holds in 97.5 % of cases. */
const Z = 1.96;

/** Null if there were no calls. */
export const successRate = ({ successes, failures }: Tally): number | null =>
  successes + failures === 0 ? null : Math.round((successes / (successes + failures)) * FOUR_DECIMALS) / FOUR_DECIMALS;

/**
 * The lower bound of Wilson's score interval of the success rate. 1 success of 1 gives less than 98 of 100. Without a
 * success it is 0.
 */
export function successLowerBound({ successes, failures }: Tally): number {
  if (successes === 0) return 0;
  const tried = successes + failures;
  const rate = successes / tried;
  const spread = Z * Math.sqrt((rate * (1 - rate) + (Z * Z) / (4 * tried)) / tried);
  return (rate + (Z * Z) / (2 * tried) - spread) / (1 + (Z * Z) / tried);
}
