import 'reflect-metadata';
import { runMain } from '@market/runtime';
import { startMarketplace } from './marketplace.js';

void runMain(async (env) => {
  const running = await startMarketplace(env);
  process.stdout.write('  Ctrl-C stops it; data stays. `npm run demo` shows a paid call.\n\n');
  return running;
});
