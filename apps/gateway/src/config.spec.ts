import { gatewayConfig } from './config.js';

describe('the configuration of the gateway', () => {
  const problemsOf = (env: Record<string, string>): string[] => {
    const problems: string[] = [];
    gatewayConfig.parse(env, problems);
    return problems;
  };

  it('gives a seller more time for an answer than for the connection', () => {
    expect(problemsOf({ GATEWAY_SELLER_TIMEOUT_MS: '6000' })).toEqual([]);
    expect(problemsOf({ GATEWAY_SELLER_TIMEOUT_MS: '5000' })).toEqual([
      expect.stringContaining('GATEWAY_SELLER_CONNECT_TIMEOUT_MS: must be below GATEWAY_SELLER_TIMEOUT_MS (5000)'),
    ]);
  });

  it('keeps a call at least as long as its result', () => {
    expect(problemsOf({ GATEWAY_HISTORY_KEPT_DAYS: '30' })).toEqual([]);
    expect(problemsOf({ GATEWAY_HISTORY_KEPT_DAYS: '29' })).toEqual([
      expect.stringContaining('GATEWAY_HISTORY_KEPT_DAYS: must be GATEWAY_RESULTS_KEPT_DAYS (30) or more'),
    ]);
  });

  it('knows every server of the services, where no endpoint may lead', () => {
    const { internalHosts } = gatewayConfig.parse(
      {
        DATABASE_URL: 'postgres://a:b@db:5432/market',
        DATABASE_LOCK_URL: 'postgres://a:b@locks:5433/market',
        IDENTITY_DATABASE_URL: 'postgres://a:b@identity:5434/market',
        NATS_URL: 'nats://one:4222,nats://two:4222',
      },
      [],
    );
    expect(internalHosts.sort()).toEqual(['db:5432', 'identity:5434', 'locks:5433', 'one:4222', 'two:4222']);
  });
});
