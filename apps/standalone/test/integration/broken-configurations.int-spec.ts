import { inProcessTransport } from '@market/messaging';
import { ConfigError, platformConfig, runProcess } from '@market/runtime';
import { services } from '../../src/services.js';

/** No server is there, so that a start which gets any further than its configuration fails in another way. */
const NOWHERE = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', ENCRYPTION_KEYS: `k1:${'A'.repeat(43)}=` };
const WRONG = ['-1', 'NaN', '1e400', 'maybe', 'http//nowhere', '0x5ecret', 'a,,b=c', '🦉', ' ', '9'.repeat(30)];

const broken = services.flatMap((service) =>
  [...Object.values(platformConfig.variables), ...Object.values(service.config.variables)].flatMap(({ name, schema }) =>
    WRONG.filter((value) => !schema.safeParse(value).success).map((value) => ({ service, name, value })),
  ),
);

describe('configurations that are wrong in one variable', () => {
  it(`none of them starts anything: each of ${broken.length} is refused by name`, async () => {
    expect(broken.length).toBeGreaterThan(500);
    for (const { service, name, value } of broken) {
      const env = { ...NOWHERE, [name]: value };
      const failure = await runProcess([service], inProcessTransport(), env).catch((error: unknown) => error);
      const problems = failure instanceof ConfigError ? failure.problems : [String(failure)];
      expect([service.name, name, value, problems.some((problem) => problem.startsWith(`${name}: `))]).toEqual([
        service.name,
        name,
        value,
        true,
      ]);
      // What is no secret may be named.
      if (name !== 'RATE_LIMITS' && value.length > 3)
        expect([name, problems.join('\n')]).toEqual([name, expect.not.stringContaining(value)]);
    }
  });
});
