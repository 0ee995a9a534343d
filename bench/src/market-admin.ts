import { fileURLToPath } from 'node:url';

/** The program of operators' commands. */
export const MARKET_ADMIN = fileURLToPath(new URL('../../apps/standalone/bin/market-admin.mjs', import.meta.url));
