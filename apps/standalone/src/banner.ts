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
  process.stdout.write(
    [
      '',
      `  Agent Marketplace is ready (${seconds.toFixed(1)} s)`,
      '',
      `  Console   ${base}  (another port: PORT=…)`,
      `  API       ${base}/api/v1`,
      `  Docs      ${base}/docs`,
      `  Payments  ${paymentsOf(settings)}`,
      `  Data      ${dataPath}${embedded ? ' (embedded PostgreSQL)' : ''}`,
      '',
      '',
    ].join('\n'),
  );
}

function paymentsOf({ PAYMENTS_MODE, PAYMENTS_LEDGER_X402_CHAINS: chains }: Environment): string {
  if (PAYMENTS_MODE === 'live') return 'live';
  return chains ? 'sandbox, and signatures on the chains that are configured' : 'sandbox: no chain, no real money';
}
