import type { LimitRule } from '@market/limits';

/** What is counted separately for accounts and for addresses. */
export const RATE_NAMES = [
  'reads',
  'writes',
  'calls',
  'retries',
  'catalog',
  'challenges',
  'registrations',
  'refusals',
  'deliveries',
  'health',
] as const;
export type RateName = (typeof RATE_NAMES)[number];

const IN_FLIGHT = 'calls-in-flight';

/** The rates, and the number of concurrent calls of one account. */
export class RateLimits {
  private constructor(
    readonly rules: Record<RateName, LimitRule>,
    readonly callsInFlight: number,
  ) {}

  /**
   * Parses `reads=600/60,calls=3000/60:300,calls-in-flight=100`: requests per seconds, and after a colon the size of a
   * burst. Limits that are not named keep their defaults.
   * @throws Error that states the problem.
   */
  static parse(text: string): RateLimits {
    const entries = new Map<string, string>();
    for (const entry of [...DEFAULT_RATE_LIMITS.split(','), ...text.split(',')]) {
      const [name = '', value] = entry.trim().split('=');
      if (value === undefined || !(name === IN_FLIGHT || (RATE_NAMES as readonly string[]).includes(name)))
        throw new Error(`names ${JSON.stringify(entry)}; there are ${[...RATE_NAMES, IN_FLIGHT].join(', ')}`);
      entries.set(name, value);
    }
    const rules = Object.fromEntries(RATE_NAMES.map((name) => [name, ruleOf(name, entries.get(name)!)])) as Record<
      RateName,
      LimitRule
    >;
    const inFlight = entries.get(IN_FLIGHT)!;
    if (!isCount(inFlight)) throw new Error(`${IN_FLIGHT} must be a number from 1 to ${MAX_RATE}`);
    return new RateLimits(rules, Number(inFlight));
  }
}

/** The defaults, in the format of the variable RATE_LIMITS. */
export const DEFAULT_RATE_LIMITS =
  'reads=600/60,writes=60/60,calls=3000/60:300,retries=3000/60:300,calls-in-flight=100,catalog=300/60,' +
  'challenges=20/60,registrations=10/3600,refusals=60/60,deliveries=30/60,health=3000/60:300';

const MAX_RATE = 1_000_000;
const isCount = (text: string | undefined): boolean =>
  text !== undefined && /^\d{1,7}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_RATE;

function ruleOf(name: RateName, text: string): LimitRule {
  const [rate = '', burst, ...more] = text.split(':');
  const [points, perSeconds, ...rest] = rate.split('/');
  if (
    !isCount(points) ||
    !isCount(perSeconds) ||
    (burst !== undefined && !isCount(burst)) ||
    more.length + rest.length > 0
  )
    throw new Error(
      `${name} must be <requests>/<seconds> or <requests>/<seconds>:<at once>, each from 1 to ${MAX_RATE}`,
    );
  return {
    name: `edge.${name}`,
    points: Number(points),
    perSeconds: Number(perSeconds),
    ...(burst === undefined ? {} : { burst: Number(burst) }),
  };
}
