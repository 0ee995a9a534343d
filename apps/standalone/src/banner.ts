import type { Environment } from '@market/runtime';

export interface BannerFacts {
  settings: Environment;
  port: number;
  dataPath: string;
  embedded: boolean;
  seconds: number;
}

/** The text that `npm start` prints when the marketplace takes requests. */
export function printBanner({ settings, port, dataPath, embedded, seconds }: BannerFacts): void {
  const base = `http://${settings.HOST || 'localhost'}:${port}`;
  const sandbox = (settings.PAYMENTS_MODE || 'sandbox') === 'sandbox';
  process.stdout.write(
    [
      '',
      `  Agent Marketplace is ready (${seconds.toFixed(1)} s)`,
      '',
      `  API       ${base}/api/v1`,
      `  Docs      ${base}/docs`,
      `  Payments  ${sandbox ? 'sandbox: no chain, no real money' : 'live'}`,
      `  Data      ${dataPath}${embedded ? ' (embedded PostgreSQL)' : ''}`,
      '',
      '',
    ].join('\n'),
  );
}
