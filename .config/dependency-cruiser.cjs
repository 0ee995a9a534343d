/** Who may import whom. `.config/boundaries.mjs` runs these over the project, and over a fixture that breaks each one. */
module.exports = {
  forbidden: [
    {
      name: 'no-app-imports-another-app',
      comment: 'A service reaches another over the bus. Only standalone composes them, through their service value.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/', pathNot: ['^apps/standalone/', '^apps/[^/]+/test/'] },
      to: { path: '^apps/([^/]+)/', pathNot: '^apps/$1/' },
    },
    {
      name: 'tests-compose-service-values-only',
      comment: 'A test may start the real neighbour of its service, from outside, and use its test support.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/test/' },
      to: {
        path: '^apps/([^/]+)/',
        pathNot: ['^apps/$1/', '^apps/[^/]+/src/(service|database)\\.ts$', '^apps/[^/]+/test/support/'],
      },
    },
    {
      name: 'standalone-imports-service-values-only',
      severity: 'error',
      from: { path: '^apps/standalone/src/' },
      to: { path: '^apps/', pathNot: ['^apps/standalone/', '^apps/[^/]+/src/service\\.ts$'] },
    },
    { name: 'no-lib-imports-app', severity: 'error', from: { path: '^libs/' }, to: { path: '^apps/' } },
    {
      name: 'kernel-depends-on-nothing',
      severity: 'error',
      from: { path: '^libs/kernel/src/', pathNot: 'spec\\.ts$' },
      to: { path: ['^libs/(?!kernel/)', 'node_modules/'] },
    },
    {
      name: 'contracts-depend-on-kernel-and-zod',
      severity: 'error',
      from: { path: '^libs/contracts/src/', pathNot: 'spec\\.ts$' },
      to: { path: ['^libs/', 'node_modules/'], pathNot: ['^libs/(contracts|kernel)/', 'node_modules/zod/'] },
    },
    {
      name: 'sdk-stands-alone',
      comment: 'The SDK is for others: it knows the public contract only.',
      severity: 'error',
      from: { path: '^libs/sdk/src/' },
      to: { path: ['^libs/(?!sdk/)', '^apps/', 'node_modules/@nestjs/'] },
    },
    {
      name: 'console-knows-the-interface-alone',
      comment: 'What runs in a browser is asked for by the public interface, as anyone asks; the SDK is its client.',
      severity: 'error',
      from: { path: '^apps/console/' },
      to: { path: '^libs/(?!sdk/)' },
    },
    {
      name: 'edge-has-no-database',
      severity: 'error',
      from: { path: '^apps/api-gateway/' },
      to: { path: ['^libs/persistence/', 'node_modules/(pg|typeorm)/'] },
    },
    {
      name: 'no-tests-in-sources',
      severity: 'error',
      from: {
        path: '^(apps|libs)/[^/]+/src/',
        pathNot: ['spec\\.ts$', '^libs/(testing|test-servers)/', '^libs/persistence/src/testing/'],
      },
      to: { path: ['^libs/(testing|test-servers)/', '^libs/persistence/src/testing/', 'spec\\.ts$'] },
    },
    {
      name: 'relay-stands-beside',
      comment: 'The Relay rail can be deleted: its folder, and the lines that compose it.',
      severity: 'error',
      from: {
        path: '^apps/payments-ledger/src/',
        pathNot: '^apps/payments-ledger/src/(rails/relay/|rails/configured-rails|config|payments-ledger\\.module)',
      },
      to: { path: '^apps/payments-ledger/src/rails/relay/' },
    },
    {
      name: 'payouts-stand-beside',
      comment: 'The payouts of an operator that takes the money can be deleted in the same way.',
      severity: 'error',
      from: {
        path: '^apps/payments-ledger/src/',
        pathNot: '^apps/payments-ledger/src/(payouts/|service\\.ts|payments-ledger\\.module)',
      },
      to: { path: '^apps/payments-ledger/src/payouts/' },
    },
    {
      name: 'backup-stands-beside',
      comment: 'So can the backup of the embedded PostgreSQL.',
      severity: 'error',
      from: { path: '^apps/standalone/src/', pathNot: '^apps/standalone/src/admin/(backup|commands)\\.ts$' },
      to: { path: '^apps/standalone/src/admin/backup\\.ts$' },
    },
    {
      name: 'operator-console-stands-beside',
      comment: "So can the console's pages for operators.",
      severity: 'error',
      from: { path: '^apps/console/src/', pathNot: '^apps/console/src/(operator/|app\\.tsx$)' },
      to: { path: '^apps/console/src/operator/' },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    { name: 'not-resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '/dist/' },
    tsConfig: { fileName: 'tsconfig.base.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@market/source', 'types', 'import', 'node', 'default'],
      extensions: ['.ts', '.tsx', '.d.ts', '.js', '.mjs', '.json'],
      extensionAlias: { '.js': ['.ts', '.tsx', '.js'] },
    },
  },
};
