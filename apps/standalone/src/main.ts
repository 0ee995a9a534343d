import 'reflect-metadata';
import { runMain } from '@market/runtime';
import { startMarketplace } from './marketplace.js';

void runMain(async () => {
  const running = await startMarketplace(process.env);
  process.stdout.write('  Ctrl-C stops it; data stays. `npm run demo` shows a paid call.\n\n');
  return running;
});
