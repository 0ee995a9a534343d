import { readFileSync } from 'node:fs';
import { Gauge } from 'prom-client';

/** The version of this release: that of the package, which all packages of the marketplace share. */
export const { version: VERSION } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** Says which services run, so that an alert can tell that one that ran is gone with its scrape target. */
export const processInfo = new Gauge({
  name: 'market_process_info',
  help: '1 for each service of this process, with the version of the marketplace and of Node.js',
  labelNames: ['service', 'version', 'node_version'] as const,
});
