import { startHelper } from './helper-process.mjs';

/** Gives every integration test one PostgreSQL server in TEST_DATABASE_URL; one that is set already wins. */
export default async function globalSetup() {
  if (process.env.TEST_DATABASE_URL) return;
  const { said, stop } = await startHelper('src/jest/postgres-process.ts');
  process.env.TEST_DATABASE_URL = said;
  globalThis.stopTestServers = stop;
}
