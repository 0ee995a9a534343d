import { startHelper } from './helper-process.mjs';

const MODES = ['standalone', 'distributed'];

/**
 * Starts the marketplaces that the end-to-end specs of a worker share: for each worker one in both modes, or in the one that MARKET_MODE
 * names.
 */
export default async function e2eSetup({ maxWorkers }) {
  const wanted = process.env.MARKET_MODE;
  if (wanted && !MODES.includes(wanted)) throw new Error(`MARKET_MODE must be one of ${MODES.join(', ')}`);
  const modes = Array(maxWorkers).fill(wanted ?? MODES);
  const { said, stop } = await startHelper('src/jest/marketplaces-process.ts', modes.flat());
  process.env.MARKET_E2E_HARNESSES = said;
  globalThis.stopTestServers = stop;
}
