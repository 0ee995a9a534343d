import type { Environment, Variable } from './define-config.js';

/**
 * A relation between durations of several services, or of one and the platform. The sum of `parts` and `spareMs` fits
 * into `whole`. Relations within a service are checked by its own configuration.
 */
interface Relation {
  whole: string;
  parts: readonly string[];
  spareMs?: number;
  because: string;
}

/**
 * The defaults of the variables below. A process assumes them of services that run elsewhere, where its own environment
 * does not name the variable.
 */
export const RELATED_DEFAULTS: Readonly<Record<string, number>> = {
  STOP_TIMEOUT_SECONDS: 170,
  STOP_DELAY_SECONDS: 0,
  API_GATEWAY_CALL_BUDGET_MS: 150_000,
  API_GATEWAY_REQUEST_BUDGET_MS: 10_000,
  PAYMENTS_LEDGER_X402_RPC_TIMEOUT_MS: 5_000,
  PAYMENTS_LEDGER_RELAY_TIMEOUT_MS: 5_000,
  PAYMENTS_LEDGER_RETRY_WINDOW_SECONDS: 86_400,
  GATEWAY_HISTORY_KEPT_DAYS: 90,
  GATEWAY_PROBE_INTERVAL_MS: 30_000,
  CATALOG_FAILING_GRACE_SECONDS: 86_400,
};

/** What remains of a request after a server of others took all its time: for the bus, the database and the answer. */
const TO_ANSWER_MS = 1_000;

const RELATIONS: readonly Relation[] = [
  {
    whole: 'STOP_TIMEOUT_SECONDS',
    parts: ['API_GATEWAY_CALL_BUDGET_MS', 'STOP_DELAY_SECONDS'],
    because: 'the longest call is cut off when the process stops',
  },
  ...['PAYMENTS_LEDGER_X402_RPC_TIMEOUT_MS', 'PAYMENTS_LEDGER_RELAY_TIMEOUT_MS'].map((timeout) => ({
    whole: 'API_GATEWAY_REQUEST_BUDGET_MS',
    parts: [timeout],
    spareMs: TO_ANSWER_MS,
    because: 'a request is given up before a slow server of others is',
  })),
  {
    whole: 'GATEWAY_HISTORY_KEPT_DAYS',
    parts: ['PAYMENTS_LEDGER_RETRY_WINDOW_SECONDS'],
    because: 'a paid call leaves the history while it may still be repeated',
  },
  {
    whole: 'CATALOG_FAILING_GRACE_SECONDS',
    parts: ['GATEWAY_PROBE_INTERVAL_MS'],
    because: 'a failing endpoint is taken off the market before it is probed once',
  },
];

const UNITS_MS = { MS: 1, SECONDS: 1_000, DAYS: 86_400_000 };

const unitOf = (name: string): number => UNITS_MS[name.slice(name.lastIndexOf('_') + 1) as keyof typeof UNITS_MS];

const valueOf = (name: string, env: Environment): number => Number(env[name] || RELATED_DEFAULTS[name]);

/** @returns a sentence for each relation that does not hold, of those that a process with these variables takes part in. */
export function brokenRelations(env: Environment, variables: readonly Variable[]): string[] {
  const read = new Map(variables.map((variable) => [variable.name, variable]));
  // A value that is wrong in itself has a sentence already.
  const isUsable = (name: string): boolean => read.get(name)?.schema.safeParse(env[name] || undefined).success ?? true;
  return RELATIONS.filter(({ whole, parts }) => [whole, ...parts].some((name) => read.has(name)))
    .filter(({ whole, parts }) => [whole, ...parts].every(isUsable))
    .flatMap(({ whole, parts, spareMs = 0, because }) => {
      const neededMs = parts.reduce((sum, name) => sum + valueOf(name, env) * unitOf(name), spareMs);
      if (!(valueOf(whole, env) * unitOf(whole) < neededMs)) return [];
      const terms = parts.map((name) => `${name} (${valueOf(name, env)})`).join(' and ');
      const least = Math.ceil(neededMs / unitOf(whole));
      return `${whole}: must be ${least} or more with ${terms}, or ${because}; raise it, or lower ${parts.join(' or ')}`;
    });
}

/** The variables that a relation names. */
export const relatedVariables = (): string[] => [
  ...new Set(RELATIONS.flatMap(({ whole, parts }) => [whole, ...parts])),
];
