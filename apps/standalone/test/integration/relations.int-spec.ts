import { brokenRelations, natsConfig, platformConfig, RELATED_DEFAULTS, relatedVariables } from '@market/runtime';
import { services } from '../../src/services.js';

/** Durations whose relations to each other are checked by the configuration of their own service. */
const WITHIN_A_SERVICE = [
  'GATEWAY_SELLER_TIMEOUT_MS',
  'GATEWAY_SELLER_CONNECT_TIMEOUT_MS',
  'GATEWAY_RESULTS_KEPT_DAYS',
];
/** Durations that work whatever the others are, with the reason. */
const UNRELATED: Record<string, string> = {
  IDENTITY_CHALLENGE_TTL_SECONDS: 'a person signs in this time',
  IDENTITY_SESSION_TTL_SECONDS: 'it ends between requests',
  CATALOG_CHALLENGE_TTL_SECONDS: 'a proof of work takes as long as its difficulty says',
  PAYMENTS_LEDGER_OFFER_TTL_SECONDS: 'a payment that began in time is taken later',
  PAYMENTS_LEDGER_FEE_GRACE_DAYS: 'it may be none',
  PAYMENTS_LEDGER_REFUND_GRACE_DAYS: 'it may be none',
  PAYMENTS_LEDGER_SANDBOX_REFUND_SECONDS: 'it is waited for by nobody',
  PAYMENTS_LEDGER_SANDBOX_PENDING_SECONDS: 'a payment that is pending keeps its offer',
  PAYMENTS_LEDGER_X402_FACILITATOR_TIMEOUT_MS:
    'a call waits for it as long as its budget, a stop no longer than a call',
  PAYMENTS_LEDGER_RELAY_STATUS_INTERVAL_MS: 'it is at most a minute, and a webhook ends it',
  GATEWAY_WAIT_FOR_RESULT_MS: 'it is at most a minute, and the budget of a call at least two',
  GATEWAY_WEBHOOK_DELIVERIES_KEPT_DAYS: 'it is at least four days, and an event is sent for three',
  REPUTATION_EVENTS_KEPT_DAYS: 'nothing refers to an event of an account',
};
/** How often something is looked for; the rest of the marketplace does not wait for it. */
const LOOKS = /_(CHECKPOINT|RESUME|SWEEP|RECONCILE|SAMPLE|PRUNE|QUALITY|POPULARITY|IDLE_PROBE)_INTERVAL_MS$/;

const variables = [platformConfig, natsConfig, ...services.map(({ config }) => config)].flatMap((config) =>
  Object.values(config.variables),
);
const isDuration = (name: string): boolean => /_(MS|SECONDS|DAYS)$/.test(name);
const readBy = (service: string) => [
  ...Object.values(platformConfig.variables),
  ...Object.values(services.find(({ name }) => name === service)!.config.variables),
];

describe('relations between variables', () => {
  it('are known of every duration, or it has none', () => {
    const names = [...new Set(variables.map(({ name }) => name).filter(isDuration))].filter(
      (name) => !LOOKS.test(name),
    );
    expect([...relatedVariables(), ...WITHIN_A_SERVICE, ...Object.keys(UNRELATED)].sort()).toEqual(names.sort());
  });

  it('assume the defaults of services that run elsewhere', () => {
    const defaults = Object.fromEntries(
      relatedVariables().map((name) => [
        name,
        variables.find((variable) => variable.name === name)!.schema.parse(undefined),
      ]),
    );
    expect(RELATED_DEFAULTS).toEqual(defaults);
    expect(brokenRelations({}, variables)).toEqual([]);
  });

  it.each<[Record<string, string>, string, string]>([
    [{ STOP_TIMEOUT_SECONDS: '5' }, 'STOP_TIMEOUT_SECONDS', 'API_GATEWAY_CALL_BUDGET_MS (150000)'],
    [{ STOP_TIMEOUT_SECONDS: '149' }, 'STOP_TIMEOUT_SECONDS', 'must be 150 or more'],
    [{ STOP_DELAY_SECONDS: '21' }, 'STOP_TIMEOUT_SECONDS', 'STOP_DELAY_SECONDS (21)'],
    [{ API_GATEWAY_CALL_BUDGET_MS: '600000' }, 'STOP_TIMEOUT_SECONDS', 'must be 600 or more'],
    [
      {
        GATEWAY_RESULTS_KEPT_DAYS: '2',
        GATEWAY_HISTORY_KEPT_DAYS: '6',
        PAYMENTS_LEDGER_RETRY_WINDOW_SECONDS: '604800',
      },
      'GATEWAY_HISTORY_KEPT_DAYS',
      'PAYMENTS_LEDGER_RETRY_WINDOW_SECONDS (604800)',
    ],
    [{ CATALOG_FAILING_GRACE_SECONDS: '29' }, 'CATALOG_FAILING_GRACE_SECONDS', 'GATEWAY_PROBE_INTERVAL_MS (30000)'],
    [
      { PAYMENTS_LEDGER_X402_RPC_TIMEOUT_MS: '8000', API_GATEWAY_REQUEST_BUDGET_MS: '8000' },
      'API_GATEWAY_REQUEST_BUDGET_MS',
      'PAYMENTS_LEDGER_X402_RPC_TIMEOUT_MS (8000)',
    ],
    [
      { PAYMENTS_LEDGER_RELAY_TIMEOUT_MS: '8000', API_GATEWAY_REQUEST_BUDGET_MS: '8999' },
      'API_GATEWAY_REQUEST_BUDGET_MS',
      'must be 9000 or more with PAYMENTS_LEDGER_RELAY_TIMEOUT_MS (8000)',
    ],
  ])('%j is refused in one sentence that names both', (env, whole, other) => {
    expect(brokenRelations(env, variables)).toEqual([expect.stringContaining(other)]);
    expect(brokenRelations(env, variables)[0]).toMatch(new RegExp(`^${whole}: must be \\d+ or more with .*; raise it`));
  });

  it('are checked by each process that reads one of the variables, beside those of other services', () => {
    const env = { API_GATEWAY_REQUEST_BUDGET_MS: '100' };
    expect(brokenRelations(env, readBy('api-gateway'))).toHaveLength(2);
    expect(brokenRelations(env, readBy('catalog'))).toEqual([]);
    const keptShortly = { GATEWAY_HISTORY_KEPT_DAYS: '3', GATEWAY_RESULTS_KEPT_DAYS: '2' };
    expect(brokenRelations(keptShortly, readBy('gateway'))).toEqual([]);
    expect(
      brokenRelations({ ...keptShortly, PAYMENTS_LEDGER_RETRY_WINDOW_SECONDS: '604800' }, readBy('gateway')),
    ).toHaveLength(1);
  });

  it('say nothing of a value that is wrong in itself', () => {
    expect(brokenRelations({ STOP_TIMEOUT_SECONDS: 'soon' }, variables)).toEqual([]);
    expect(brokenRelations({ STOP_TIMEOUT_SECONDS: '0' }, variables)).toEqual([]);
  });
});
