import type { RunningMarketplace } from '../marketplace/running-marketplace.js';
import { startMarketplace } from '../marketplace/start-marketplace.js';

/**
 * Short intervals and waits, so that effects of time occur within a test. Events that take minutes (the expiry of an
 * offer, and tests of an endpoint without a request) occur in no run, however slow it is, because the fuzzer attributes
 * every change that it did not make to its own requests.
 */
const SETTINGS = {
  PAYMENTS_LEDGER_SANDBOX_PENDING_SECONDS: '1',
  PAYMENTS_LEDGER_OFFER_TTL_SECONDS: '86400',
  PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '1000',
  GATEWAY_RESUME_INTERVAL_MS: '500',
  GATEWAY_PROBE_INTERVAL_MS: '3600000',
  CATALOG_SWEEP_INTERVAL_MS: '1000',
};

/**
 * Runs the marketplaces of the end-to-end suite, prints their addresses in one line of JSON, and stops them when
 * standard input closes.
 */
const modes = process.argv.slice(2) as RunningMarketplace['mode'][];
const running: RunningMarketplace[] = [];
const stop = (): Promise<unknown> => Promise.all(running.map((marketplace) => marketplace.stop()));
try {
  for (const mode of modes) running.push(await startMarketplace({ mode, env: SETTINGS }));
} catch (error) {
  await stop();
  throw error;
}
process.stdin.resume().once('end', () => {
  for (const marketplace of running) {
    for (const name of marketplace.processes)
      process.stderr.write(prefixed(`${marketplace.mode}/${name}`, marketplace.logs(name)));
  }
  void stop();
});
process.stdout.write(
  `${JSON.stringify(running.map(({ mode, baseUrl, databaseUrl }) => ({ mode, baseUrl, databaseUrl })))}\n`,
);

/** Returns the errors in the logs of the services, for the analysis of a failed test. */
function prefixed(name: string, logs: string): string {
  const errors = logs.split('\n').filter((line) => /^\{"level":[56]0/.test(line));
  return errors.map((line) => `${name} ${line}\n`).join('');
}
