import { startHelper } from './helper-process.mjs';

const MODES = ['standalone', 'distributed'];

/** Starts the marketplaces that all end-to-end specs share: both modes, or the one that MARKET_MODE names. */
export default async function e2eSetup() {
  const wanted = process.env.MARKET_MODE;
  if (wanted && !MODES.includes(wanted)) throw new Error(`MARKET_MODE must be one of ${MODES.join(', ')}`);
  const { said, stop } = await startHelper('src/jest/marketplaces-process.ts', wanted ? [wanted] : MODES);
  process.env.MARKET_E2E_HARNESSES = said;
  globalThis.stopTestServers = stop;
}
