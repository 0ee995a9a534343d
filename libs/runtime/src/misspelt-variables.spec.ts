import { misspeltVariables } from './misspelt-variables.js';

const KNOWN = ['DATABASE_URL', 'NATS_URL', 'HOST', 'PORT', 'ENCRYPTION_KEYS', 'GATEWAY_RESULTS_KEPT_DAYS'];

it.each([
  ['DATABSE_URL', 'DATABASE_URL'],
  ['DATABASE_ULR', 'DATABASE_URL'],
  ['NATS_ULR', 'NATS_URL'],
  ['ENCRYPTION_KEY', 'ENCRYPTION_KEYS'],
  ['GATEWAY_RESULT_KEPT_DAY', 'GATEWAY_RESULTS_KEPT_DAYS'],
  ['PORTS', 'PORT'],
])('asks whether %s should be %s, and shows no value', (name, meant) =>
  expect(misspeltVariables({ [name]: 'my-secret' }, KNOWN)).toEqual([`${name} is unknown; did you mean ${meant}?`]),
);

it.each([
  ['is known', { DATABASE_URL: 'x', HOST: 'x' }],
  ['is short', { HOSE: 'x' }],
  ['is another', { PGDATABASE: 'x', NATS_PORT: 'x', HOSTNAME: 'x', DATABASE_POOL: 'x' }],
  ['is empty', { DATABSE_URL: '', NATS_ULR: undefined }],
])('is silent about what %s', (_what, env) => expect(misspeltVariables(env, KNOWN)).toEqual([]));
