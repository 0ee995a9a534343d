import { generateKeyPairSync } from 'node:crypto';
import { paymentsLedgerConfig } from '../../src/config.js';
import { railChecks } from '../../src/rails/rail-checks.js';
import { parseCdpSecret } from '../../src/rails/x402/cdp-key.js';
import { parsePayload, type ExactRequirements } from '../../src/rails/x402/exact-payment.js';
import { Facilitator } from '../../src/rails/x402/facilitator.js';
import { HttpFacilitator } from '../../src/rails/x402/http-facilitator.js';
import { cdpGuard, issueCdpKey } from '../support/cdp-guard.js';
import { serveFacilitator, type RemoteFacilitator } from '../support/remote-facilitator.js';

const requirements = { scheme: 'exact', network: 'eip155:8453', extra: {} } as ExactRequirements;
const payload = parsePayload(
  JSON.stringify({
    x402Version: 2,
    accepted: { scheme: 'exact', network: 'eip155:8453', extra: { relayRequestId: `0x${'1'.repeat(64)}` } },
    payload: { transaction: '' },
  }),
)!;
const HASH = `0x${'ab'.repeat(32)}`;

/** A facilitator that agrees to everything. */
class Agreeable extends Facilitator {
  readonly id = 'agreeable';
  verify = () => Promise.resolve({ valid: true } as const);
  settle = () => Promise.resolve({ settled: true, transactionHash: HASH } as const);
}

const read = (env: Record<string, string>): { problems: string[]; checks: () => ReturnType<typeof railChecks> } => {
  const problems: string[] = [];
  const config = paymentsLedgerConfig.parse(
    {
      PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 1).toString('base64'),
      PAYMENTS_LEDGER_X402_CHAINS: 'eip155:8453',
      PAYMENTS_LEDGER_FEE_ADDRESS: '0x3333333333333333333333333333333333333333',
      ...env,
    },
    problems,
  );
  return { problems, checks: () => railChecks(config) };
};

describe.each(['EdDSA', 'ES256'] as const)('a facilitator that takes tokens of CDP, signed by %s', (algorithm) => {
  const key = issueCdpKey(algorithm);
  let remote: RemoteFacilitator;
  beforeAll(async () => {
    remote = await serveFacilitator(new Agreeable(), ['eip155:8453'], cdpGuard(key));
  });
  afterAll(() => remote.stop());
  const withKey = (id: string, secret: string): HttpFacilitator =>
    new HttpFacilitator({
      url: `${remote.url}/platform/v2/x402/`,
      timeoutMs: 5_000,
      cdpKey: { id, secret: parseCdpSecret(secret) },
    });

  it('is asked with a new token for each request, which has every claim that it checks', async () => {
    const facilitator = withKey(key.id, key.secret.replaceAll('\n', '\\n'));
    await facilitator.readSupported();
    expect(facilitator.problemOn('eip155:8453')).toBeUndefined();
    for (let n = 0; n < 2; n += 1) expect(await facilitator.verify(payload, requirements)).toEqual({ valid: true });
    expect(await facilitator.settle(payload, requirements)).toEqual({ settled: true, transactionHash: HASH });
  });

  it('refuses the key of another id and another secret, and the doctor names the variable and shows neither', async () => {
    const stranger = issueCdpKey(algorithm);
    for (const [id, secret] of [
      ['another', key.secret],
      [key.id, stranger.secret],
    ] as const) {
      await expect(withKey(id, secret).verify(payload, requirements)).rejects.toThrow('401');
      await expect(withKey(id, secret).settle(payload, requirements)).rejects.toMatchObject({ because: 'declined' });
    }
    const { problems, checks } = read({
      PAYMENTS_LEDGER_X402_FACILITATOR_URL: `cdp+${remote.url}`,
      PAYMENTS_LEDGER_X402_CDP_API_KEY_ID: key.id,
      PAYMENTS_LEDGER_X402_CDP_API_KEY_SECRET: stranger.secret,
    });
    expect(problems).toEqual([]);
    const found = await Promise.all(checks().map((check) => check.problems()));
    expect(found.flat()).toEqual(['PAYMENTS_LEDGER_X402_CDP_API_KEY_SECRET: the facilitator refuses it (401)']);
  });
});

it.each<[string, string]>([
  ['text', 'not-a-key'],
  ['too few bytes', Buffer.alloc(32, 1).toString('base64')],
  ['two halves of different keys', Buffer.alloc(64, 1).toString('base64')],
  ['a broken PEM', '-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----'],
  [
    'a key on another curve',
    generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey.export({ format: 'pem', type: 'sec1' }).toString(),
  ],
  [
    'a key of RSA',
    generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  ],
])('no process starts with %s as a secret, and it is not shown', (_what, secret) => {
  const { problems } = read({
    PAYMENTS_LEDGER_X402_CDP_API_KEY_ID: 'id',
    PAYMENTS_LEDGER_X402_CDP_API_KEY_SECRET: secret,
  });
  expect(problems).toEqual([expect.stringMatching(/^PAYMENTS_LEDGER_X402_CDP_API_KEY_SECRET: (is|must) /)]);
  expect(problems.join()).not.toContain(secret.split('\n').at(1) ?? secret);
});

const A = 'https://a.test';
it.each<[string, Record<string, string>, string]>([
  ['an id without its secret', { CDP_API_KEY_ID: 'id' }, 'CDP_API_KEY_SECRET: is needed'],
  ['cdp without a key', { FACILITATOR_URL: 'cdp' }, 'CDP_API_KEY_ID: is needed'],
  ['own without a key', { FACILITATOR_URL: `${A},own` }, 'FACILITATOR_KEY: is needed with own'],
  ['an order that is none', { FACILITATOR_URL: `${A},b` }, 'FACILITATOR_URL: it is a list'],
  ['a facilitator twice', { FACILITATOR_URL: `${A},${A}/x` }, 'FACILITATOR_URL: names a.test twice'],
  ['the order of another chain', { FACILITATOR_URL: `${A},eip155:1=${A}` }, 'FACILITATOR_URL: names eip155:1'],
  [
    'one key for two facilitators',
    { FACILITATOR_URL: `${A},https://b.test`, FACILITATOR_API_KEY: 'k' },
    'FACILITATOR_API_KEY: with several facilitators it is a list',
  ],
])('no process starts with %s', (_what, env, problem) => {
  const named = Object.entries(env).map(([name, value]) => [`PAYMENTS_LEDGER_X402_${name}`, value]);
  const { problems } = read(Object.fromEntries(named) as Record<string, string>);
  expect(problems.map((each) => each.replace('PAYMENTS_LEDGER_X402_', ''))).toContainEqual(
    expect.stringContaining(problem),
  );
});
