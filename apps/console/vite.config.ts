import { defineConfig } from 'vite';

export default defineConfig({
  logLevel: 'warn',
  // The SDK is read from its sources, so that no other package has to be built first.
  resolve: { conditions: ['@market/source', 'module', 'browser', 'production'] },
  build: {
    // The policy of the page allows no data: script and no inline one.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Radix marks its modules for servers that render React; here is none.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
  },
  worker: { format: 'es' },
});
