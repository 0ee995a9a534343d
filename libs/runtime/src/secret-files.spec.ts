import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withSecretFiles } from './secret-files.js';

const directory = mkdtempSync(join(tmpdir(), 'secrets-'));
afterAll(() => rmSync(directory, { recursive: true }));

const file = (name: string, content: string): string => {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
};

it.each([
  'DATABASE_URL',
  'PAYMENTS_LEDGER_DATABASE_URL',
  'DATABASE_LOCK_URL',
  'REDIS_URL',
  'ENCRYPTION_KEYS',
  'NATS_NKEY_SEED',
  'GATEWAY_NATS_NKEY_SEED',
  'IDENTITY_EVM_RPC_URLS',
  'PAYMENTS_LEDGER_SIGNING_KEYS',
  'PAYMENTS_LEDGER_X402_CHAINS',
  'PAYMENTS_LEDGER_X402_FACILITATOR_API_KEY',
  'PAYMENTS_LEDGER_X402_CDP_API_KEY_ID',
  'PAYMENTS_LEDGER_X402_CDP_API_KEY_SECRET',
  'PAYMENTS_LEDGER_X402_FACILITATOR_KEY',
  'PAYMENTS_LEDGER_X402_FACILITATOR_SOLANA_KEY',
  'PAYMENTS_LEDGER_RELAY_API_KEY',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OPERATOR_KEY',
])('reads %s from the file that its _FILE names, without the line end', (name) => {
  const env = { [`${name}_FILE`]: file(name, 'se cret=\n'), PORT: '3000' };
  expect(withSecretFiles(env)).toEqual({ [name]: 'se cret=', PORT: '3000' });
});

it('leaves alone what is not a secret of ours, and an empty name', () => {
  const env = { SSL_CERT_FILE: '/nowhere', DATABASE_URL_FILE: '', DATABASE_URL: 'postgres://a' };
  expect(withSecretFiles(env)).toEqual(env);
});

it('names what cannot be read and what is given twice, and no value', () => {
  const env = {
    ENCRYPTION_KEYS_FILE: join(directory, 'missing'),
    REDIS_URL: 'redis://secret-one',
    REDIS_URL_FILE: file('redis', 'redis://secret-two'),
  };
  expect(() => withSecretFiles(env)).toThrow(
    `the configuration is not usable:
  - ENCRYPTION_KEYS_FILE: the file cannot be read (ENOENT)
  - REDIS_URL: is given twice, by itself and by REDIS_URL_FILE; remove one of them`,
  );
});
